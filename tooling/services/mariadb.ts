import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { findProgram } from './find-program.js';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const database = 'test';
const url = (host: string, port: number) => `mysql://root@${host}:${port}/${database}`;

/** Connects to the server, and creates the database if it does not exist. */
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
      // Without --no-defaults, MariaDB reads the configuration of the machine. As root, it runs only with --user=root.
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

/** A server that syncs every commit to disk, for tests that kill it. So use it only as a private server. */
export const durableMariadb: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['--innodb-flush-log-at-trx-commit=1']),
};

export const mariadb: Service = {
  ...installed,
  // Tests need not survive a power failure.
  fromProgram: (path) => start(path, ['--innodb-flush-log-at-trx-commit=0']),
};

export default provide('mysqlUrl', mariadb);
