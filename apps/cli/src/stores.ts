import { createHash } from 'node:crypto';
import { existsSync, lstatSync, readlinkSync, realpathSync } from 'node:fs';
import { homedir } from 'node:os';
import { basename, dirname, join, resolve } from 'node:path';
import { type SessionStore, SessionStoreError, type Workspace } from '@x/core';
import { errorText, isSqliteMissing, STORAGE } from '@x/core/internal';
import { JsonSession } from '@x/core/node';
import { fileSegment } from '@x/core/store';
import { SqliteSession } from '@x/session-sqlite';

/** A store, and how to let go of what was opened for it. */
export interface OpenStore {
  readonly store: SessionStore;
  /** Files beside the sessions, where the backend has a place for them. */
  readonly workspace?: Workspace;
  close(): Promise<void>;
}

/** The settings with which a store is opened. */
export interface OpenSettings {
  /** The key prefix or table; default the store's own. */
  readonly part?: string | undefined;
  /**
   * Makes missing tables and waits for a lost server, as a program that runs agents does. A command that only reads changes
   * nothing. Default false.
   */
  readonly createTables?: boolean | undefined;
  /** Receives what the user has to know. Default: writes a line to stderr. */
  readonly warn?: ((message: string) => void) | undefined;
}

/** A kind of store that apps offer. */
export interface StoreKind {
  /** For people. */
  readonly title: string;
  /** Stands for the address in a usage. */
  readonly value: 'URL' | 'DIR' | 'FILE';
  /** An example of an address, for messages. */
  readonly example: string;
  /** The schemes of its server's addresses; absent for files. */
  readonly schemes?: readonly string[];
  /** The option that names a part of the server, and what stands for its value. */
  readonly part?: { readonly option: string; readonly value: string };
  /** The driver's package, which users install. */
  readonly driver?: string;
  /** Takes the path of a socket for an address too. */
  readonly sockets?: boolean;
  open(address: string, settings: OpenSettings): Promise<OpenStore>;
}

const nothing = async () => {};

/** Every store that apps open by an option of this name. Drivers are loaded when they are needed. */
export const stores = {
  directory: {
    title: 'JSON files',
    value: 'DIR',
    example: './sessions',
    async open(directory) {
      // Looking must not create one.
      if (existsSync(directory)) return { store: new JsonSession({ directory }), close: nothing };
      throw new SessionStoreError('session_unavailable', `There is no directory ${directory}.`);
    },
  },
  sqlite: {
    title: 'a file of SQLite',
    value: 'FILE',
    example: './sessions.db',
    async open(file, { createTables = false }) {
      // Looking must not create one.
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
      const [{ Redis }, { RedisSession, RedisWorkspace }] = await Promise.all([
        import('ioredis'),
        import('@x/session-redis'),
      ]);
      const client = new Redis(url, {
        lazyConnect: true,
        ...(createTables
          ? { maxRetriesPerRequest: 3 }
          : { maxRetriesPerRequest: 1, retryStrategy: () => null }),
      });
      // Its events say why; what a command throws then is only that there is no connection.
      let reason: Error | undefined;
      client.on('error', (error: Error) => {
        reason ??= error;
      });
      try {
        const options = { client, keyPrefix };
        const store = new RedisSession(options);
        await client.connect().catch((error: unknown) => {
          const cause = reason ?? error;
          const why = errorText(cause);
          const message = `Redis could not be reached or refused: ${why}`;
          throw new SessionStoreError('session_unavailable', message, { cause });
        });
        return { store, workspace: new RedisWorkspace(options), close: async () => client.disconnect() };
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
      const pool = createPool({ uri, connectionLimit: createTables ? 4 : 2 });
      try {
        const store = new MysqlSession({ pool, table });
        if (createTables) await store.createTables();
        return { store, close: () => pool.end() };
      } catch (error) {
        await pool.end();
        throw error;
      }
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
      const pool = new pg.Pool({ connectionString, max: createTables ? 4 : 2 });
      // What ends a connection that nobody uses fails nothing.
      pool.on('error', () => {});
      try {
        const store = new PostgresSession({ pool, table });
        if (createTables) await store.createTables();
        return { store, close: () => pool.end() };
      } catch (error) {
        await pool.end();
        throw error;
      }
    },
  },
} as const satisfies Readonly<Record<string, StoreKind>>;

/** The option by which a store is chosen. */
export type StoreName = keyof typeof stores;

export const storeNames = Object.keys(stores) as readonly StoreName[];

/**
 * Names the file of SQLite that holds the sessions of a workspace for this user of the machine: `~/.x/workspaces/…/sessions.db`.
 * It is not in the workspace, because a session has permissions, and others may have written the folder: a repository that
 * was cloned.
 *
 * @param workspace The workspace's directory, which need not exist yet.
 */
export function ownSessionsFile(workspace: string): string {
  const place = realPathOf(resolve(workspace));
  const id = createHash('sha256').update(place).digest('hex').slice(0, 32);
  return join(homedir(), STORAGE, 'workspaces', `${fileSegment(basename(place))}-${id}`, 'sessions.db');
}

/** A link counts as its target also before that is there, as a volume that is mounted later; one that leads nowhere as itself. */
export function realPathOf(path: string, links = 0): string {
  if (existsSync(path)) return realpathSync(path);
  const isLink = links < 40 && lstatSync(path, { throwIfNoEntry: false })?.isSymbolicLink();
  const place = join(realPathOf(dirname(path)), basename(path));
  return isLink ? realPathOf(resolve(dirname(place), readlinkSync(path)), links + 1) : place;
}

/** Names the folder that holds sessions as JSON files while SQLite cannot be loaded. */
function jsonBeside(file: string): string {
  return join(dirname(file), 'sessions-json');
}

/** Tests whether sessions were stored at a place by {@link openSessions}. */
export function hasSessions(file: string): boolean {
  return existsSync(file) || existsSync(jsonBeside(file));
}

/**
 * Opens sessions in a file of SQLite. If SQLite cannot be loaded, sessions are JSON files in a folder beside the file, and
 * stay there until they are copied.
 *
 * @param warn Receives one line that says so.
 */
export function openSessions(file: string, warn: (message: string) => void): OpenStore {
  const directory = jsonBeside(file);
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

/** Names the file of SQLite within a workspace that holds its sessions, which need not exist yet. */
export function sessionsFile(workspace: string): string {
  return join(workspace, STORAGE, 'sessions.db');
}

/** A store by the name of its option. */
export function storeKind(name: StoreName): StoreKind {
  return stores[name];
}

/** The store whose addresses begin as this one does. */
export function storeOfAddress(address: string): StoreName | undefined {
  const scheme = /^([a-z]+):/.exec(address)?.[1];
  return storeNames.find((name) => scheme !== undefined && storeKind(name).schemes?.includes(scheme));
}

/**
 * The address of a store as its driver takes it; `undefined` when it is none. An address whose password was not encoded
 * is none: a driver would take a part of it for the host, and name that in its errors.
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

/** Words the message for a malformed address. Does not repeat the address, which may hold a password. */
export function addressHint(name: StoreName): string {
  const { example, schemes } = storeKind(name);
  return schemes === undefined
    ? `must be like ${example}`
    : `must be ${example}; in a password write %40 for @, %23 for #, %2F for /, %3A for :, %3F for ? and %25 for %`;
}

const SCHEMES = storeNames.flatMap((name) => storeKind(name).schemes ?? []).join('|');
/** What {@link addressHint} shows: no address, and no secret. */
const EXAMPLES = storeNames.map((name) => storeKind(name).example.replaceAll(/[[\].]/g, '\\$&')).join('|');
/** Credentials before the host of an address, also in an address that was encoded as the name of a session. */
const CREDENTIALS = new RegExp(
  `\\b(?!${EXAMPLES})((?:${SCHEMES})(?::|%3A)(?:\\/|%2F){2})[^\\n]*(?:@|%40)`,
  'gi',
);
const PASSWORD_PARAMETER = /([?&]password=)[^&\s]*/gi;

/** A text for people to read, without the user names and passwords of the addresses in it. */
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
