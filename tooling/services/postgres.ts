import { realpathSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { Client } from 'pg';
import { startLocalServer } from './local-server.js';
import { provide } from './provide.js';
import type { Running, Service } from './service.js';

const url = (host: string, port: number) => `postgres://postgres@${host}:${port}/postgres`;

async function ping(connectionString: string): Promise<void> {
  const client = new Client({ connectionString });
  // If the server ends during the request, the client emits an error event in addition to the rejection.
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
  // PostgreSQL refuses to run as root, and every system has the user `nobody`.
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
        // Keep shared memory in the data directory. Otherwise a killed server would leave it in a directory of the system.
        'dynamic_shared_memory_type=mmap',
        ...settings,
      ].flatMap((each) => ['-c', each]);
      // Retry: after the server was killed, it refuses to start until its child processes have ended.
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

/** A server that syncs every commit to disk, for tests that kill it. So use it only as a private server. */
export const durablePostgres: Service = {
  ...installed,
  fromProgram: (path) => start(path, ['fsync=on']),
};

export const postgres: Service = {
  ...installed,
  // Tests need not survive a power failure.
  fromProgram: (path) => start(path, ['fsync=off']),
};

export default provide('postgresUrl', postgres);
