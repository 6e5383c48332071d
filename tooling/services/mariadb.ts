import { join } from 'node:path';
import { createConnection } from 'mysql2/promise';
import { startContainer } from './container.js';
import { findProgram } from './find-program.js';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Service } from './service.js';

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

export const mariadb: Service = {
  name: 'MariaDB',
  variable: 'MYSQL_URL',
  example: url('127.0.0.1', 3306),
  programs: ['mariadbd'],
  debianPackages: ['mariadb-server'],
  homebrewFormula: 'mariadb',
  fromProgram: async (path) => {
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
            // Tests need no durability against a power cut.
            '--innodb-flush-log-at-trx-commit=0',
            '--innodb-buffer-pool-size=64M',
          ],
        ];
      },
      url,
      ping,
    });
  },
  fromContainer: () =>
    startContainer({
      image: 'mariadb:10.11',
      port: 3306,
      environment: { MARIADB_ALLOW_EMPTY_ROOT_PASSWORD: '1' },
      url,
      ping,
    }),
};

export default provide('mysqlUrl', mariadb);
