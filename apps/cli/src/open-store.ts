import { existsSync } from 'node:fs';
import {
  InvalidInputError,
  JsonSession,
  type SessionStore,
  SessionStoreError,
  WorkspaceSession,
} from '@x/core';
import { UsageError } from './command.js';
import { openWorkspace } from './identity-options.js';
import { storeAddress } from './store-address.js';

/** The options that say where sessions are stored, named as the stores name theirs. */
export const storeOptions = {
  directory: { type: 'string' },
  redis: { type: 'string' },
  'key-prefix': { type: 'string' },
  mysql: { type: 'string' },
  table: { type: 'string' },
} as const;

export const storeUsage =
  '[--workspace DIR] [--directory DIR | --redis URL [--key-prefix TEXT] | --mysql URL [--table NAME]]';

type StoreValues = { readonly workspace: string } & {
  readonly [Name in keyof typeof storeOptions]?: string | undefined;
};

const STORES = ['directory', 'redis', 'mysql'] as const;

/** A store, and how to let go of what was opened for it. */
export interface OpenStore {
  readonly store: SessionStore;
  close(): Promise<void>;
}

/** Whether the options name a store: otherwise sessions are in the files of the workspace. */
export function namesStore(values: StoreValues): boolean {
  return STORES.some((name) => values[name] !== undefined);
}

/**
 * Opens the store that the options name: the documents of a directory, Redis, MySQL, or else the files of the workspace.
 * Drivers are loaded when they are needed, so that nobody has to install one for files.
 *
 * @throws {UsageError} for options that do not go together or that the store refuses, a missing directory, or a driver
 * that is not installed.
 * @throws {SessionStoreError} when the server cannot be reached.
 */
export async function openStore(
  values: StoreValues,
  options: {
    readonly readOnly: boolean;
    /** Makes MySQL's tables where there are none: for agents; who only looks changes nothing. */
    readonly createTables?: boolean;
  },
): Promise<OpenStore> {
  checkCombination(values);
  const { directory, redis, mysql, table } = values;
  if (redis !== undefined) return openRedis(redis, values['key-prefix']);
  if (mysql !== undefined) return openMysql(mysql, table, options.createTables ?? false);
  if (directory !== undefined) return openDirectory(directory);
  return { store: new WorkspaceSession(openWorkspace(values, options)), close: async () => {} };
}

function checkCombination(values: StoreValues): void {
  const named = STORES.filter((name) => values[name] !== undefined).map((name) => `--${name}`);
  if (named.length > 1) {
    throw new UsageError(`${named.join(' and ')} are different stores: name one of them.`);
  }
  for (const [option, store] of [
    ['key-prefix', 'redis'],
    ['table', 'mysql'],
  ] as const) {
    if (values[option] === undefined || values[store] !== undefined) continue;
    throw new UsageError(`--${option} belongs to --${store} URL, which is missing.`);
  }
}

function openDirectory(directory: string): OpenStore {
  // Looking must not create one.
  if (!existsSync(directory)) {
    throw new UsageError(
      `There is no directory ${directory}; name that of the JsonSession with --directory DIR.`,
    );
  }
  return { store: new JsonSession({ directory }), close: async () => {} };
}

async function openRedis(url: string, keyPrefix: string | undefined): Promise<OpenStore> {
  const address = storeAddress('redis', url);
  const [{ Redis }, { RedisSession }] = await installed(['ioredis'], () =>
    Promise.all([import('ioredis'), import('@x/session-redis')]),
  );
  // A terminal does not wait for a server to come back.
  const client = new Redis(address, {
    lazyConnect: true,
    maxRetriesPerRequest: 1,
    retryStrategy: () => null,
  });
  // Its events say why; what a command throws then is only that there is no connection.
  let reason: Error | undefined;
  client.on('error', (error: Error) => {
    reason ??= error;
  });
  try {
    const store = refused('--key-prefix', () => new RedisSession({ client, keyPrefix }));
    await client.connect().catch((error: unknown) => {
      const cause = reason ?? error;
      throw new SessionStoreError(
        'session_unavailable',
        `Redis could not be reached or refused: ${cause instanceof Error ? cause.message : String(cause)}`,
        { cause },
      );
    });
    return { store, close: async () => client.disconnect() };
  } catch (error) {
    client.disconnect();
    throw error;
  }
}

async function openMysql(url: string, table: string | undefined, createTables: boolean): Promise<OpenStore> {
  const uri = storeAddress('mysql', url);
  const [{ createPool }, { MysqlSession }] = await installed(['mysql2'], () =>
    Promise.all([import('mysql2/promise'), import('@x/session-mysql')]),
  );
  const pool = createPool({ uri, connectionLimit: 2 });
  try {
    const store = refused('--table', () => new MysqlSession({ pool, table }));
    if (createTables) await store.migrate();
    return { store, close: () => pool.end() };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** What is made; where an option is refused, by the name that it has here. */
function refused<T>(option: string, make: () => T): T {
  try {
    return make();
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    throw new UsageError(`${option} ${error.issues.map(({ message }) => message).join('; ')}.`);
  }
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
