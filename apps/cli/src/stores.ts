import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type SessionStore, SessionStoreError } from '@x/core';
import { errorText, isSqliteMissing, STORAGE } from '@x/core/internal';
import { JsonSession } from '@x/core/node';
import { fileSegment } from '@x/core/store';
import { SqliteSession } from '@x/session-sqlite';

/** A store, and a function that releases its resources. */
export interface OpenStore {
  readonly store: SessionStore;
  close(): Promise<void>;
}

/** Settings for opening a store. */
export interface OpenSettings {
  /** The key prefix or table. Default: the store's default. */
  readonly part?: string | undefined;
  /**
   * Creates missing tables, and retries if the server is unreachable. Set it in programs that run agents, not in commands that only read.
   * Default false.
   */
  readonly createTables?: boolean | undefined;
  /** Receives warnings for the user. Default: writes a line to stderr. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** A kind of store that apps support. */
export interface StoreKind {
  /** The name that is shown to people. */
  readonly title: string;
  /** Placeholder of the address in the usage. */
  readonly value: 'URL' | 'DIR' | 'FILE';
  /** An example address, for messages. */
  readonly example: string;
  /** The URL schemes of the server; absent for files. */
  readonly schemes?: readonly string[];
  /** The option for the key prefix or table, and the placeholder of its value. */
  readonly part?: { readonly option: string; readonly value: string };
  /** The npm package of the driver, which users install. */
  readonly driver?: string;
  /** Whether the path of a socket is a valid address too. */
  readonly sockets?: boolean;
  open(address: string, settings: OpenSettings): Promise<OpenStore>;
}

/** Milliseconds that a server has to accept a connection, and to answer a request. */
const CONNECT_MS = 5_000;
const ANSWER_MS = 60_000;

const nothing = async () => {};

/** Opens a store on a pool of connections. Closes the pool if that fails. */
async function openTables<Store extends SessionStore & { createTables(): Promise<void> }>(
  open: () => Store,
  pool: { end(): Promise<void> },
  createTables: boolean,
): Promise<OpenStore> {
  try {
    const store = open();
    if (createTables) await store.createTables();
    return { store, close: () => pool.end() };
  } catch (error) {
    await pool.end();
    throw error;
  }
}

/** The stores that apps support, by option name. Drivers are loaded on demand. */
export const stores = {
  directory: {
    title: 'JSON files',
    value: 'DIR',
    example: './sessions',
    async open(directory) {
      // Reading must not create a directory.
      if (existsSync(directory)) return { store: new JsonSession({ directory }), close: nothing };
      throw new SessionStoreError('session_unavailable', `There is no directory ${directory}.`);
    },
  },
  sqlite: {
    title: 'an SQLite file',
    value: 'FILE',
    example: './sessions.db',
    async open(file, { createTables = false }) {
      // Reading must not create a file.
      if (!createTables && !existsSync(file)) {
        throw new SessionStoreError('session_unavailable', `There is no file ${file}.`);
      }
      const store = new SqliteSession({ file });
      return { store, close: () => store.close() };
    },
  },
  redis: {
    title: 'Redis',
    value: 'URL',
    example: 'redis://[user:password@]host[:port][/number]',
    schemes: ['redis', 'rediss'],
    sockets: true,
    part: { option: 'key-prefix', value: 'TEXT' },
    driver: 'ioredis',
    async open(url, { part: keyPrefix, createTables = false }) {
      const [{ Redis }, { RedisSession }] = await Promise.all([
        import('ioredis'),
        import('@x/session-redis'),
      ]);
      const client = new Redis(url, {
        lazyConnect: true,
        connectTimeout: CONNECT_MS,
        commandTimeout: 2 * CONNECT_MS,
        ...(createTables
          ? { maxRetriesPerRequest: 3 }
          : { maxRetriesPerRequest: 1, retryStrategy: () => null }),
      });
      // The client reports the cause only as an event. Its commands fail with "no connection".
      let reason: Error | undefined;
      client.on('error', (error: Error) => {
        reason ??= error;
      });
      try {
        const store = new RedisSession({ client, keyPrefix });
        await client.connect().catch((error: unknown) => {
          const cause = reason ?? error;
          const why = errorText(cause);
          const message = `Could not connect to Redis: ${why}`;
          throw new SessionStoreError('session_unavailable', message, { cause });
        });
        return { store, close: async () => client.disconnect() };
      } catch (error) {
        client.disconnect();
        throw error;
      }
    },
  },
  mysql: {
    title: 'MySQL or MariaDB',
    value: 'URL',
    example: 'mysql://user:password@host[:port]/database',
    schemes: ['mysql', 'mysqls', 'mariadb'],
    part: { option: 'table', value: 'NAME' },
    driver: 'mysql2',
    async open(uri, { part: table, createTables = false }) {
      const [{ createPool }, { MysqlSession }] = await Promise.all([
        import('mysql2/promise'),
        import('@x/session-mysql'),
      ]);
      const pool = createPool({ uri, connectTimeout: CONNECT_MS, connectionLimit: createTables ? 4 : 2 });
      return openTables(() => new MysqlSession({ pool, table }), pool, createTables);
    },
  },
  postgres: {
    title: 'PostgreSQL',
    value: 'URL',
    example: 'postgres://user:password@host[:port]/database',
    schemes: ['postgres', 'postgresql'],
    part: { option: 'table', value: 'NAME' },
    driver: 'pg',
    async open(connectionString, { part: table, createTables = false }) {
      const [{ default: pg }, { PostgresSession }] = await Promise.all([
        import('pg'),
        import('@x/session-postgres'),
      ]);
      const pool = new pg.Pool({
        connectionString,
        connectionTimeoutMillis: CONNECT_MS,
        query_timeout: ANSWER_MS,
        max: createTables ? 4 : 2,
      });
      // An error of an idle connection affects no request, but without a listener it would end the process.
      pool.on('error', () => {});
      return openTables(() => new PostgresSession({ pool, table }), pool, createTables);
    },
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

/** The name of the option that selects a store. */
export type StoreName = keyof typeof stores;

export const storeNames = Object.keys(stores) as readonly StoreName[];

/**
 * Returns the path of the SQLite file with this OS user's sessions of a workspace: `~/.x/workspaces/…/sessions.db`. It is outside the
 * workspace, because sessions contain permissions, and other people may write to the workspace, as in a cloned repository.
 *
 * @param workspace The workspace's directory, which need not exist yet.
 */
export function ownSessionsFile(workspace: string): string {
  const place = realPathOf(resolve(workspace));
  const id = createHash('sha256').update(place).digest('hex').slice(0, 32);
  return join(homedir(), STORAGE, 'workspaces', `${fileSegment(basename(place))}-${id}`, 'sessions.db');
}

/** Resolves symbolic links, even if their target does not exist yet, such as a volume that is mounted later. A link in a cycle is kept. */
export function realPathOf(path: string, links = 0): string {
  if (existsSync(path)) return realpathSync(path);
  const isLink = links < 40 && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  const place = join(realPathOf(dirname(path)), basename(path));
  return isLink ? realPathOf(resolve(dirname(place), readlinkSync(path)), links + 1) : place;
}

/** Returns the folder for sessions as JSON files, which is used if SQLite cannot be loaded. */
function jsonFolderOf(file: string): string {
  return join(dirname(file), 'sessions-json');
}

/** Tests whether {@link openSessions} has stored sessions at a path. */
export function hasSessions(file: string): boolean {
  return existsSync(file) || existsSync(jsonFolderOf(file));
}

/**
 * Opens sessions in an SQLite file. If SQLite cannot be loaded, sessions are JSON files in a folder next to the file, and stay there until
 * they are copied.
 *
 * @param warn Receives one line if SQLite cannot be loaded.
 */
export function openSessions(file: string, warn: (message: string) => void): OpenStore {
  const directory = jsonFolderOf(file);
  if (existsSync(file) || !existsSync(directory)) {
    try {
      const store = new SqliteSession({ file });
      return { store, close: () => store.close() };
    } catch (error) {
      if (!isSqliteMissing(error)) throw error;
      const unread = existsSync(file) ? `, and those in ${file} are not shown` : '';
      warn(`${errorText((error as Error).cause)}. Until then sessions are stored in ${directory}${unread}.`);
    }
  }
  return { store: new JsonSession({ directory }), close: nothing };
}

/** Returns the path of the SQLite file for sessions within a workspace, which need not exist yet. */
export function sessionsFile(workspace: string): string {
  return join(workspace, STORAGE, 'sessions.db');
}

/** Returns the store with an option name. */
export function storeKind(name: StoreName): StoreKind {
  return stores[name];
}

/** Finds the store that matches the scheme of an address. */
export function storeOfAddress(address: string): StoreName | undefined {
  const scheme = /^([a-z]+):/.exec(address)?.[1];
  return storeNames.find((name) => scheme !== undefined && storeKind(name).schemes?.includes(scheme));
}

/**
 * Returns a store's address in the form that its driver accepts; `undefined` if it is invalid. A password with unencoded characters is
 * invalid, because a driver could mistake a part of it for the host and print it in errors.
 */
export function checkedAddress(name: StoreName, text: string): string | undefined {
  const { schemes, sockets = false } = storeKind(name);
  if (schemes === undefined) return text === '' ? undefined : text;
  if (sockets && text.startsWith('/') && !text.startsWith('//')) return text;
  if (!URL.canParse(text)) return undefined;
  const url = new URL(text);
  const { username, password, pathname, search, hash } = url;
  const isWhole = hash === '' && !`${pathname}${search}`.includes('@');
  const isOurs = schemes.includes(url.protocol.slice(0, -1));
  return isOurs && isWhole && canDecode(username, password, pathname) ? url.href : undefined;
}

/** Returns the error message for an invalid address. Does not repeat the address, which may contain a password. */
export function addressHint(name: StoreName): string {
  const { example, schemes } = storeKind(name);
  return schemes === undefined
    ? `must be like ${example}`
    : `must be ${example}; in a password write %40 for @, %23 for #, %2F for /, %3A for :, %3F for ? and %25 for %`;
}

const SCHEMES = storeNames.flatMap((name) => storeKind(name).schemes ?? []).join('|');
/** Matches the examples in {@link addressHint}, which contain no secrets. */
const EXAMPLES = storeNames.map((name) => storeKind(name).example.replaceAll(/[[\].]/g, '\\$&')).join('|');
/** Matches the credentials before the host of an address, even if the address was encoded as a session name. */
const CREDENTIALS = new RegExp(
  `\\b(?!${EXAMPLES})((?:${SCHEMES})(?::|%3A)(?:\\/|%2F){2})[^\\n]*(?:@|%40)`,
  'gi',
);
const PASSWORD_PARAMETER = /([?&]password=)[^&\s]*/gi;

/** Removes user names and passwords of addresses from a text. */
export function withoutSecrets(text: string): string {
  return text.replaceAll(CREDENTIALS, '$1***@').replaceAll(PASSWORD_PARAMETER, '$1***');
}

function canDecode(...parts: readonly string[]): boolean {
  try {
    parts.forEach(decodeURIComponent);
    return true;
  } catch {
    return false;
  }
}
