import {
  InvalidInputError,
  SessionConflictError,
  SessionKey,
  type SessionStoreError,
  userMessage,
} from '@x/core';
import { operationId } from '@x/core/store';
import { commitAt, takeLease } from '@x/test-support';
import { createPool as createCallbackPool } from 'mysql2';
import type { RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { messages, testPool, testStore } from './support/test-store.js';

const key = SessionKey.of({ tenantId: 'acme', userId: 'alice', agentId: 'coder', sessionId: 's-1' });
const head = { schemaVersion: 1, sessionId: 's-1' };

describe('MysqlSession', () => {
  it('keeps a prefix, or nothing', async () => {
    const { store } = await testStore();
    const stored = messages(5);
    await commitAt(store, key, { expectedVersion: 'latest', head, keep: 0, append: stored });
    await commitAt(store, key, { expectedVersion: 'latest', head, keep: 3, append: [] });
    expect((await store.load(key))?.messages).toEqual(stored.slice(0, 3));
    await commitAt(store, key, { expectedVersion: 2, head, keep: 1, append: stored.slice(3) });
    expect((await store.load(key))?.messages).toEqual([stored[0], ...stored.slice(3)]);
    await commitAt(store, key, { expectedVersion: 3, head, keep: 0, append: [] });
    expect((await store.load(key))?.messages).toEqual([]);
  });

  it('stores any text, whatever the character set of the connection', async () => {
    const { store } = await testStore({ charset: 'latin1' });
    const text = '日本語 → 😀 \u0000 \ud800 é \' " \\';
    const message = userMessage(text);
    await commitAt(store, key, { expectedVersion: 0, head: { text }, keep: 0, append: [message] });
    expect(await store.load(key)).toMatchObject({ head: { text }, messages: [message] });
  });

  it('stores more than one packet may hold', async () => {
    const { store } = await testStore();
    const large = messages(40, 'x'.repeat(900_000));
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: large });
    expect((await store.load(key))?.messages).toEqual(large);
  });

  it('refuses a token that only resembles that of the session', async () => {
    const { store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    const { token = '' } = (await store.load(key)) ?? {};
    const change = { operation: operationId(), head, append: messages(1) };
    for (const keep of [0, 1]) {
      const refused = store.commit(key, { ...change, expected: `${token}!`, keep });
      await expect(refused).rejects.toBeInstanceOf(SessionConflictError);
    }
    expect(await store.delete(key, { token: `${token}!` })).toBe(false);
  });

  it.each([6, -1, Number.NaN, 1.5])('refuses to keep %s of 5 messages and writes nothing', async (keep) => {
    const { store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(5) });
    const before = await store.load(key);
    for (const expectedVersion of [1, 'latest'] as const) {
      const refused = commitAt(store, key, { expectedVersion, head: {}, keep, append: messages(1) });
      await expect(refused).rejects.toBeInstanceOf(InvalidInputError);
      await expect(refused).rejects.toMatchObject({ issues: [{ path: 'keep' }] });
    }
    expect(await store.load(key)).toEqual(before);
  });

  it.each([0, 1])('lets one of many writers win who expect version %i', async (expectedVersion) => {
    const { table, store } = await testStore();
    if (expectedVersion > 0) await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const writers = Array.from({ length: 8 }, () => new MysqlSession({ pool: testPool(), table }));
    const results = await Promise.allSettled(
      writers.map((writer, index) =>
        commitAt(writer, key, { expectedVersion, head, keep: 0, append: messages(2, `writer ${index}`) }),
      ),
    );
    const lost = results.filter((result) => result.status === 'rejected').map(({ reason }) => reason);
    expect(lost).toHaveLength(7);
    for (const error of lost) {
      expect(error).toBeInstanceOf(SessionConflictError);
      expect(error).toMatchObject({ actualVersion: expectedVersion + 1 });
    }
    expect((await store.load(key))?.messages).toHaveLength(2);
  });

  it('loses nothing when many write until they win, and creates many sessions at once', async () => {
    const { store } = await testStore();
    await Promise.all(
      Array.from({ length: 40 }, (_, index) => winning(store, SessionKey.of(`s-${index % 8}`))),
    );
    for (let index = 0; index < 8; index++) {
      expect(await store.load(SessionKey.of(`s-${index}`))).toMatchObject({ version: 5 });
    }
  });

  it('deletes everything there is of a session', async () => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    expect(await store.delete(key)).toBe(true);
    expect(await store.delete(key)).toBe(false);
    for (const name of [table, `${table}_messages`]) {
      const [rows] = await pool.query<RowDataPacket[]>(`SELECT COUNT(*) AS count FROM ${name}`);
      expect(rows).toEqual([{ count: 0 }]);
    }
  });

  it.each([
    ['a lost message', 'DELETE FROM #_messages WHERE seq = 1'],
    ['a message of another place', 'UPDATE #_messages SET seq = 7 WHERE seq = 1'],
    ['a head that is no JSON', `UPDATE # SET head = '{"a":'`],
    ['a head that is no object', `UPDATE # SET head = '[]'`],
  ])('says that a session is corrupt: %s', async (_, damage) => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    await pool.query(damage.replaceAll('#', table));
    await expect(store.load(key)).rejects.toMatchObject({
      code: 'session_corrupt',
      sessionKey: key.toString(),
    } satisfies Partial<SessionStoreError>);
  });

  it.each(['{', '{"id":"m"}'])('loads a placeholder for the message %s', async (damaged) => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(2) });
    await pool.query(`UPDATE ${table}_messages SET message = ? WHERE seq = 0`, [damaged]);
    const stored = await store.load(key);
    expect(stored?.messages[0]?.content).toMatchObject([{ type: 'opaque', provider: 'damaged' }]);
    expect(stored?.messages[1]?.content).toEqual(messages(2)[1]?.content);
  });

  it('does not mind how the pool shapes its rows', async () => {
    const { store } = await testStore({
      rowsAsArray: true,
      namedPlaceholders: true,
      supportBigNumbers: true,
      bigNumberStrings: true,
      typeCast: false,
      timezone: '+05:00',
    });
    const [first, second] = messages(2);
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [first] });
    await commitAt(store, key, { expectedVersion: 1, head, keep: 0, append: [second] });
    const stored = await store.load(key);
    expect(stored).toMatchObject({ version: 2, messages: [second] });
    expect(Math.abs(Date.parse(stored?.updatedAt ?? '') - Date.now())).toBeLessThan(600_000);
  });

  it('never ends the pool', async () => {
    const { pool, store } = await testStore();
    await store.close();
    expect(await pool.query('SELECT 1')).toBeDefined();
  });

  it.each([
    ['table', { table: 'a`b' }],
    ['table', { table: 'x'.repeat(49) }],
    ['pool', { pool: {} }],
    ['tables', { tables: 'a' }],
  ])('refuses options with a bad %s', (path, options) => {
    const make = () => new MysqlSession({ pool: testPool(), ...(options as object) });
    expect(make).toThrow(expect.objectContaining({ issues: [expect.objectContaining({ path })] }));
  });

  it('says that a table name must not begin with a digit', () => {
    expect(() => new MysqlSession({ pool: testPool(), table: '1st' })).toThrow('no digit first');
  });

  it('refuses a pool with callbacks, and says which one it wants', () => {
    const pool = createCallbackPool({ uri: 'mysql://localhost' });
    expect(() => new MysqlSession({ pool: pool as never })).toThrow('mysql2/promise');
  });
});

async function winning(store: MysqlSession, key: SessionKey): Promise<number> {
  for (;;) {
    try {
      return await commitAt(store, key, { expectedVersion: 'latest', head, keep: 0, append: messages(1) });
    } catch (error) {
      if (!SessionConflictError.isInstance(error)) throw error;
    }
  }
}

it.each([
  ['autocommit = 0', 'autocommit = 1'],
  ['SESSION TRANSACTION ISOLATION LEVEL READ UNCOMMITTED', 'transaction_isolation'],
])('refuses a pool whose connections have %s, and writes nothing', async (setting, remedy) => {
  const { table, store } = await testStore();
  const key = SessionKey.of('s-1');
  await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: messages(1) });
  const pool = testPool();
  pool.pool.on('connection', (connection) => connection.query(`SET ${setting}`));
  const refusing = new MysqlSession({ pool, table });
  const operations = [
    () => refusing.createTables(),
    () => refusing.load(key),
    () => refusing.delete(key),
    () => takeLease(refusing, key),
    () => commitAt(refusing, key, { expectedVersion: 1, head: {}, keep: 1, append: [] }),
  ];
  for (const operation of operations) {
    await expect(operation()).rejects.toMatchObject({
      code: 'invalid_input',
      message: expect.stringContaining(remedy),
    });
  }
  expect(await store.load(key)).toMatchObject({ version: 1 });
});
