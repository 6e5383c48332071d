import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { findProgram } from './find-program.js';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const database = 'test';
const url = (host: string, port: number) => `mysql://root@${host}:${port}/${database}`;

/** Answers once the database exists, and makes it where it does not. */
async function ping(address: string): Promise<void> {
  const connection = await createConnection(address.slice(0, -database.length));
  try {
    await connection.query(`CREATE DATABASE IF NOT EXISTS ${database}`);
  } finally {
    await connection.end();
  }
}

const installed = {
  name: 'MariaDB',
  variable: 'MYSQL_URL',
  example: url('127.0.0.1', 3306),
  programs: ['mariadbd'],
  debianPackages: ['mariadb-server'],
  homebrewFormula: 'mariadb',
};

function start(path: string, settings: readonly string[]): Promise<Running> {
  const install = findProgram(['mariadb-install-db']);
  return startLocalServer({
    name: 'mariadb',
    commands: (directory, port) => {
      // Without --no-defaults it reads the machine's own configuration; as root it only runs when told so.
      const user = process.getuid?.() === 0 ? ['--user=root'] : [];
      const common = ['--no-defaults', ...user, `--datadir=${join(directory, 'data')}`];
      return [
        [install, ...common, '--auth-root-authentication-method=normal'],
        [
          path,
          ...common,
          `--port=${port}`,
          '--bind-address=127.0.0.1',
          `--socket=${join(directory, 's')}`,
          `--pid-file=${join(directory, 'pid')}`,
          '--innodb-buffer-pool-size=64M',
          ...settings,
        ],
      ];
    },
    url,
    ping,
  });
}

/** A server that has on disk what it has confirmed. Only of our own, since it is there to be killed. */
export const durableMariadb: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['--innodb-flush-log-at-trx-commit=1']),
};

export const mariadb: Service = {
  ...installed,
  // Tests need no durability against a power cut.
  fromProgram: (path) => start(path, ['--innodb-flush-log-at-trx-commit=0']),
};

export default provide('mysqlUrl', mariadb);
