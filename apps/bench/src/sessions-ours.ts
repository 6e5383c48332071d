import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { operationId, SessionKey, type SessionStore, type Workspace } from '@x/core';
import { LocalWorkspace, WorkspaceSession } from '@x/core/node';
import { MysqlSession } from '@x/session-mysql';
import { PostgresSession } from '@x/session-postgres';
import { RedisSession } from '@x/session-redis';
import { SqliteSession } from '@x/session-sqlite';
import type { Redis } from 'ioredis';
import type { Pool } from 'mysql2/promise';
import type { Pool as Pg } from 'pg';
import { bytesLogged, bytesOfProcess, bytesReceived, bytesToDisk } from './sessions-bytes.js';
import { type Contender, someHead, someMessages, someTurn } from './sessions-conversation.js';

let sessions = 0;

export function redisSession(client: Redis): Contender {
  const store = new RedisSession({ client, keyPrefix: 'ours:' });
  return contender(
    'RedisSession',
    appending(store, () => bytesToDisk(client)),
  );
}

/** As an agent does that keeps nothing between its turns: what is read grows with the conversation, whoever stores it. */
export function redisSessionLoaded(client: Redis): Contender {
  const store = new RedisSession({ client, keyPrefix: 'loaded:' });
  return {
    ...contender(
      'RedisSession, loaded at every turn',
      appending(store, () => bytesToDisk(client), { load: true }),
    ),
    isOurs: false,
  };
}

export async function mysqlSession(pool: Pool): Promise<Contender> {
  const store = new MysqlSession({ pool, table: 'ours' });
  await store.migrate();
  return contender(
    'MysqlSession',
    appending(store, () => bytesReceived(pool)),
  );
}

export async function postgresSession(pool: Pg): Promise<Contender> {
  const store = new PostgresSession({ pool, table: 'ours' });
  await store.migrate();
  return contender(
    'PostgresSession',
    appending(store, () => bytesLogged(pool)),
  );
}

export function sqliteSession(): Contender & { close(): Promise<void> } {
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  const store = new SqliteSession({ file: join(directory, 'sessions.db') });
  return {
    ...contender(
      'SqliteSession (fsync)',
      appending(store, async () => bytesOfProcess()),
    ),
    async close() {
      await store.close();
      rmSync(directory, { recursive: true, force: true });
    },
  };
}

export function workspaceSession(): Contender & { close(): void } {
  const directory = mkdtempSync(join(tmpdir(), 'x-bench-'));
  let bytes = 0;
  const count = (text: string | Uint8Array) => {
    bytes += Buffer.byteLength(text);
  };
  const store = new WorkspaceSession(counting(new LocalWorkspace(directory), count));
  return {
    ...contender(
      'WorkspaceSession (fsync)',
      appending(store, async () => bytes),
    ),
    close: () => rmSync(directory, { recursive: true, force: true }),
  };
}

function contender(name: string, open: Contender['open']): Contender {
  return { name, isOurs: true, samples: 100, open };
}

function appending(
  store: SessionStore,
  written: () => Promise<number>,
  { load = false }: { readonly load?: boolean } = {},
): Contender['open'] {
  return async (messages) => {
    const key = SessionKey.of({ userId: 'alice', sessionId: `s-${++sessions}` });
    let keep = messages;
    let expected = operationId();
    const first = { operation: expected, expected: undefined, head: someHead, keep: 0 };
    await store.commit(key, { ...first, append: someMessages(messages) });
    return {
      written,
      turn: async () => {
        if (load) await store.load(key);
        const operation = operationId();
        await store.commit(key, { operation, expected, head: someHead, keep, append: someTurn() });
        expected = operation;
        keep += 2;
      },
    };
  };
}

/** The same workspace; tells what is written to it. */
function counting(workspace: Workspace, count: (content: string | Uint8Array) => void): Workspace {
  return new Proxy(workspace, {
    get(target, name) {
      const value = Reflect.get(target, name, target) as unknown;
      if (typeof value !== 'function') return value;
      return (...values: unknown[]) => {
        if (name === 'write' || name === 'append') count(values[1] as string | Uint8Array);
        return value.apply(target, values);
      };
    },
  });
}
