import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const url = (host: string, port: number) => `postgres://postgres@${host}:${port}/postgres`;

async function ping(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  // A server that ends while it is asked says so twice.
  client.on('error', () => {});
  await client.connect();
  await client.end();
}

const installed = {
  name: 'PostgreSQL',
  variable: 'DATABASE_URL',
  example: url('127.0.0.1', 5432),
  programs: ['postgres'],
  debianPackages: ['postgresql'],
  homebrewFormula: 'postgresql',
};

function start(path: string, settings: readonly string[]): Promise<Running> {
  // It refuses to run as root, and every system has this user.
  const asRoot = process.getuid?.() === 0;
  const user = asRoot ? ['setpriv', '--reuid=nobody', '--regid=nogroup', '--clear-groups'] : [];
  const programs = dirname(realpathSync(path));
  return startLocalServer({
    name: 'postgres',
    commands: (directory, port) => {
      const data = join(directory, 'data');
      const init = [
        `--pgdata=${data}`,
        '--username=postgres',
        '--auth=trust',
        '--encoding=UTF8',
        '--no-sync',
      ];
      const options = [
        `port=${port}`,
        'listen_addresses=127.0.0.1',
        `unix_socket_directories=${directory}`,
        // In its own directory: a server that is killed would leave it in the system's.
        'dynamic_shared_memory_type=mmap',
        ...settings,
      ].flatMap((each) => ['-c', each]);
      // After it was killed its children take a moment to end, and until then it refuses to start.
      const untilItRuns = 'for attempt in $(seq 60); do "$@" && exit; sleep 0.5; done; exit 1';
      return [
        ...(asRoot ? [['chown', 'nobody', directory]] : []),
        [...user, join(programs, 'initdb'), ...init],
        ['sh', '-c', untilItRuns, 'postgres', ...user, path, '-D', data, ...options],
      ];
    },
    url,
    ping,
  });
}

/** A server that has on disk what it has confirmed. Only of our own, since it is there to be killed. */
export const durablePostgres: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['fsync=on']),
};

export const postgres: Service = {
  ...installed,
  // Tests need no durability against a power cut.
  fromProgram: (path) => start(path, ['fsync=off']),
};

export default provide('postgresUrl', postgres);
