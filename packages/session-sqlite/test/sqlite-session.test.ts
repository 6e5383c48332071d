import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { SessionKey, userMessage } from '@x/core';
import { operationId } from '@x/core/store';
import {
  checkPausedHolder,
  checkTurns,
  checkWrongClocks,
  commitAt,
  openBeside,
  runWriters,
} from '@x/test-support';
import { writerOf } from '@x/test-support/servers';
import { storedSuite } from '@x/test-support/suites';
import { sessionStoreSuite } from '@x/testkit/suites';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { SqliteSession } from '../src/index.js';
import { storedIn } from './stored.js';

const program = new URL('children/write-turns.ts', import.meta.url);

let directory: string;
let count = 0;
beforeAll(() => {
  directory = mkdtempSync(join(tmpdir(), 'x-sqlite-'));
});
afterAll(() => rmSync(directory, { recursive: true, force: true }));
const fresh = () => join(directory, `below/${++count}.db`);
const last = () => join(directory, `below/${count}.db`);
const key = SessionKey.of({ userId: 'u', sessionId: 's' });

sessionStoreSuite({
  name: 'SqliteSession',
  create: () => new SqliteSession({ file: fresh() }),
  reopen: () => new SqliteSession({ file: last() }),
  setFormat: async (_, format) => {
    const database = openBeside(last());
    database.exec(`PRAGMA user_version = ${format}`);
    database.close();
  },
  damage: async (of) => {
    const database = openBeside(last());
    // No `Date` is so far away.
    database.prepare(`UPDATE sessions SET head = '{', created_at = 9e15 WHERE key = ?`).run(`${of}`);
    database.close();
  },
});

storedSuite('SqliteSession', storedIn(fresh, last));

describe('SqliteSession', () => {
  it('names the collection of a damaged record, and reads the session of its key', async () => {
    const store = new SqliteSession({ file: fresh() });
    const change = { operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] };
    const orders = store.collection('orders');
    for (const records of [store, orders]) await records.commit(key, change);
    const database = openBeside(last());
    database.exec(`UPDATE sessions SET head = '{' WHERE collection = 'orders'`);
    database.close();
    await expect(orders.load(key)).rejects.toMatchObject({
      code: 'session_corrupt',
      sessionKey: '/u//s',
      collection: 'orders',
      message: expect.stringContaining('Record /u//s of the collection "orders" is damaged in SQLite'),
      stack: expect.stringContaining('Record /u//s of the collection "orders" is damaged in SQLite'),
    });
    expect(await store.load(key)).toMatchObject({ version: 1 });
    await store.close();
  });

  it('loses and doubles no turn while processes that write are killed', async () => {
    const file = fresh();
    const store = new SqliteSession({ file });
    const plan = { seed: 7, sessions: 4, turns: 20 };
    const history = await runWriters({ ...plan, writers: 3, kills: 2, start: writerOf(program, file) });
    await checkTurns(store, plan, history);
    await store.close();
  });

  it('refuses a holder that was stopped for longer than its lease', async () => {
    const file = fresh();
    const store = new SqliteSession({ file });
    await checkPausedHolder(store, writerOf(program, file));
    await store.close();
  });

  it('takes no session and locks none by a wrong clock', async () => {
    const file = fresh();
    const stores = [new SqliteSession({ file }), new SqliteSession({ file })] as const;
    await checkWrongClocks(...stores);
    for (const store of stores) await store.close();
  });

  it('waits for another process without standing still, and says when that takes too long', async () => {
    const file = fresh();
    const store = new SqliteSession({ file, lockTimeoutMs: 100 });
    const other = openBeside(file);
    other.exec('BEGIN IMMEDIATE');
    const change = { operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] };
    await expect(store.commit(key, change)).rejects.toMatchObject({
      code: 'session_unavailable',
      outcome: 'none',
      isTransient: true,
    });
    expect(await store.load(key)).toBeUndefined();
    const patient = new SqliteSession({ file });
    const commit = patient.commit(key, change);
    other.exec('COMMIT');
    expect(await commit).toBe(1);
  });

  it('lists newest first, each session once, also those that are committed to meanwhile', async () => {
    const store = new SqliteSession({ file: fresh(), synchronous: 'normal' });
    const keys = Array.from({ length: 450 }, (_, index) =>
      SessionKey.of({ userId: 'u', sessionId: `s-${index}` }),
    );
    for (const each of keys)
      await commitAt(store, each, { expectedVersion: 0, head: {}, keep: 0, append: [] });
    const listed: string[] = [];
    for await (const info of store.list({ userId: 'u' })) {
      listed.push(`${info.key}`);
      // What was next to the last comes to the front, where the listing has been.
      if (listed.length === 10) {
        await commitAt(store, keys[0] ?? key, {
          expectedVersion: 'latest',
          head: { n: 1 },
          keep: 0,
          append: [],
        });
      }
    }
    expect(listed.sort()).toEqual(keys.map(String).sort());
    for await (const info of store.list()) {
      expect(info.key).toEqual(keys[0]);
      break;
    }
  });

  it('leaves a database of another program as it is, and tells what is no database', async () => {
    const foreign = join(directory, 'foreign.db');
    const database = openBeside(foreign);
    database.exec('CREATE TABLE notes (text TEXT)');
    database.close();
    const before = readFileSync(foreign);
    expect(() => new SqliteSession({ file: foreign })).toThrow(/has format 0/);
    expect(readFileSync(foreign).equals(before)).toBe(true);
    const numbered = openBeside(foreign);
    numbered.exec('PRAGMA user_version = 1');
    numbered.close();
    const changed = readFileSync(foreign);
    expect(() => new SqliteSession({ file: foreign })).toThrow(/is not a database of sessions/);
    expect(readFileSync(foreign).equals(changed)).toBe(true);
    const garbage = join(directory, 'garbage.db');
    writeFileSync(garbage, 'x'.repeat(5_000));
    expect(() => new SqliteSession({ file: garbage })).toThrow(/is damaged/);
    expect(() => new SqliteSession({ file: '' })).toThrow(/file/);
  });
});

it('takes less than twice what the messages have, at the sizes that most of them have', async () => {
  const store = new SqliteSession({ file: fresh() });
  const append = Array.from({ length: 400 }, () => userMessage('m'.repeat(1_400)));
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append });
  await store.close();
  expect(statSync(last()).size).toBeLessThan(2 * Buffer.byteLength(JSON.stringify(append)));
});
