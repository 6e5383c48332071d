import { type SessionStore, WorkspaceSession } from '@x/core';
import { UsageError } from './command.js';
import { openWorkspace } from './identity-options.js';

/** The options that say where sessions are stored. */
export const storeOptions = {
  redis: { type: 'string' },
  mysql: { type: 'string' },
} as const;

interface StoreValues {
  readonly workspace: string;
  readonly redis?: string | undefined;
  readonly mysql?: string | undefined;
}

/** A store, and how to let go of what was opened for it. */
export interface OpenStore {
  readonly store: SessionStore;
  close(): Promise<void>;
}

/**
 * Opens the store that the options name: Redis, MySQL, or else the files of the workspace. Drivers are loaded when they
 * are needed, so that nobody has to install one for files.
 *
 * @throws {UsageError} for two stores at once, a missing directory, or a driver that is not installed.
 */
export async function openStore(
  values: StoreValues,
  options: {
    readonly readOnly: boolean;
    /** Makes MySQL's tables where there are none: for agents; who only looks changes nothing. */
    readonly createTables?: boolean;
  },
): Promise<OpenStore> {
  if (values.redis !== undefined && values.mysql !== undefined) {
    throw new UsageError('Name one store: --redis URL or --mysql URL, not both.');
  }
  if (values.redis !== undefined) return openRedis(values.redis);
  if (values.mysql !== undefined) return openMysql(values.mysql, options.createTables ?? false);
  return { store: new WorkspaceSession(openWorkspace(values, options)), close: async () => {} };
}

async function openRedis(url: string): Promise<OpenStore> {
  const [{ Redis }, { RedisSession }] = await installed(['ioredis'], () =>
    Promise.all([import('ioredis'), import('@x/session-redis')]),
  );
  // A terminal does not wait for a server to come back.
  const client = new Redis(url, { lazyConnect: true, maxRetriesPerRequest: 1, retryStrategy: () => null });
  client.on('error', () => {});
  return {
    store: new RedisSession({ client }),
    close: async () => client.disconnect(),
  };
}

async function openMysql(url: string, createTables: boolean): Promise<OpenStore> {
  const [{ createPool }, { MysqlSession }] = await installed(['mysql2'], () =>
    Promise.all([import('mysql2/promise'), import('@x/session-mysql')]),
  );
  const pool = createPool({ uri: url, connectionLimit: 2 });
  const store = new MysqlSession({ pool });
  try {
    if (createTables) await store.migrate();
  } catch (error) {
    await pool.end();
    throw error;
  }
  return { store, close: () => pool.end() };
}

/** Loads packages that need not be there, and says which to install when they are not. */
export async function installed<T>(packages: readonly string[], load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== 'ERR_MODULE_NOT_FOUND' && code !== 'MODULE_NOT_FOUND') throw error;
    throw new UsageError(
      `This store needs packages that are not installed: npm install ${packages.join(' ')}`,
    );
  }
}
