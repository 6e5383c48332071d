import { join } from 'node:path';
import {
  fileSegment,
  InvalidInputError,
  LocalWorkspace,
  type SessionStore,
  type Workspace,
  WorkspaceSession,
} from '@x/core';

/** Where sessions, logs and reports live. */
export interface Storage {
  /** Such as `files in .x` or `Redis`. */
  readonly name: string;
  readonly workspace: Workspace;
  readonly store: SessionStore;
  close(): Promise<void>;
}

export interface StorageSettings {
  /** The directory of this machine's files. */
  readonly data: string;
  /** Whose; the files of users lie apart. Default: the one user's there is. */
  readonly user?: string | undefined;
  /** Sessions and files on Redis, shared with every server that names the same one. */
  readonly redis?: string | undefined;
  /** Sessions on MySQL or MariaDB; files stay here. */
  readonly mysql?: string | undefined;
}

/** Opens what the settings name; only the driver that is needed is loaded. */
export async function openStorage({ data: root, user, redis, mysql }: StorageSettings): Promise<Storage> {
  const data = user === undefined ? root : userData(root, user);
  if (redis !== undefined && mysql !== undefined) {
    throw new InvalidInputError('settings', [
      { path: 'mysql', message: 'and redis both say where sessions live' },
    ]);
  }
  if (redis !== undefined) return openRedis(redis, user);
  if (mysql !== undefined) return openMysql(mysql, data);
  return openFiles(data);
}

/** Where the files of one of several users lie. */
export function userData(data: string, user: string): string {
  return join(data, 'users', fileSegment(user));
}

/** Everything in files of one directory. */
export function openFiles(data: string): Storage {
  const workspace = localWorkspace(data);
  return {
    name: `files in ${data}`,
    workspace,
    store: new WorkspaceSession(workspace),
    close: async () => {},
  };
}

async function openRedis(url: string, user: string | undefined): Promise<Storage> {
  const [{ Redis }, { RedisSession, RedisWorkspace }] = await Promise.all([
    import('ioredis'),
    import('@x/session-redis'),
  ]);
  const client = new Redis(url, { maxRetriesPerRequest: 3 });
  // Without a listener ioredis prints every attempt; what matters fails the call that needed it.
  client.on('error', () => {});
  const options = {
    client,
    keyPrefix: user === undefined ? 'x-demo:' : `x-demo:users/${fileSegment(user)}:`,
  };
  return {
    name: 'Redis',
    workspace: new RedisWorkspace(options),
    store: new RedisSession(options),
    close: async () => client.disconnect(),
  };
}

async function openMysql(url: string, data: string): Promise<Storage> {
  const [{ createPool }, { MysqlSession }] = await Promise.all([
    import('mysql2/promise'),
    import('@x/session-mysql'),
  ]);
  const pool = createPool({ uri: url, connectionLimit: 4 });
  const store = new MysqlSession({ pool });
  await store.migrate();
  return {
    name: `MySQL, files in ${data}`,
    workspace: localWorkspace(data),
    store,
    close: () => pool.end(),
  };
}

function localWorkspace(data: string): LocalWorkspace {
  const workspace = new LocalWorkspace(join(data, 'workspace'));
  workspace.check();
  return workspace;
}
