import { openSession, SessionKey, SessionStoreError, userMessage } from '@x/core';
import { operationId } from '@x/core/store';
import { claimOf, commitAt, takeLease } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { TAIL_BYTES } from '../src/statements.js';
import { proxiedPool } from './support/proxied-pool.js';
import { collect, messages, testPool, testStore } from './support/test-store.js';
import { waiting } from './support/waiting.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1' };

describe('a connection that breaks', () => {
  it('fails every method with a typed error, and never answers "no session"', async () => {
    const { proxy, store } = await proxiedStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    proxy.sever();
    const attempts = [
      store.load(key),
      commitAt(store, key, { expectedVersion: 1, head, keep: 1, append: [] }),
      store.delete(key),
      collect(store.list()),
      store.createTables(),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'session_unavailable', cause: expect.any(Error) },
      });
      expect((result as PromiseRejectedResult).reason).toBeInstanceOf(SessionStoreError);
    }
  });

  it.each([0, 'latest'] as const)(
    'while it commits does not commit twice (expected version: %s)',
    async (expectedVersion) => {
      const { proxy, store } = await proxiedStore();
      const [first, second] = messages(2);
      if (expectedVersion !== 0) {
        await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [first] });
      }
      const stored = (await store.load(key))?.messages ?? [];
      // Only a new session needs a transaction.
      const severed = proxy.severReplyTo(expectedVersion === 0 ? 'COMMIT' : 'message 1');
      const change = { expectedVersion, head, keep: stored.length, append: [second] };
      expect(await commitAt(store, key, change)).toBe(expectedVersion === 0 ? 1 : 2);
      await severed;
      expect((await store.load(key))?.messages).toEqual([...stored, second]);
    },
  );

  it.each(['severBefore', 'severDuring', 'severReplyTo'] as const)(
    'at any statement (%s) leaves nothing of the first attempt, and the change is made once',
    async (sever) => {
      const { proxy, store } = await proxiedStore();
      const stored = messages(1);
      await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: stored });
      const inTransaction = ['START TRANSACTION', 'in the head', 'in the message', 'COMMIT'];
      for (const marker of ['in one statement', ...inTransaction]) {
        const { version = 0, messages: before = [] } = (await store.load(key)) ?? {};
        // A large message does not fit into the row of the session.
        const isLarge = inTransaction.includes(marker);
        const message = userMessage(isLarge ? 'in the message'.padEnd(TAIL_BYTES, '.') : 'in one statement');
        const severed = proxy[sever](marker);
        const change = { head: { text: 'in the head' }, keep: before.length, append: [message] };
        expect(await commitAt(store, key, { ...change, expectedVersion: version })).toBe(version + 1);
        await severed;
        expect((await store.load(key))?.messages).toEqual([...before, message]);
      }
    },
  );

  it('after the commit, and then a refusal, do not say that nothing was written', async () => {
    const { proxy, pool, table, store } = await proxiedStore();
    const stored = messages(1);
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: stored });
    const connect = pool.getConnection.bind(pool);
    let attempts = 0;
    pool.getConnection = async () => {
      if (++attempts === 2) await testPool().query(`RENAME TABLE ${table} TO ${table}_away`);
      return connect();
    };
    const severed = proxy.severReplyTo('message 0');
    const change = {
      operation: operationId(),
      expected: (await new MysqlSession({ pool: testPool(), table }).load(key))?.token,
      head,
      keep: 1,
      append: messages(1),
    };
    await expect(store.commit(key, change)).rejects.toMatchObject({
      outcome: 'unknown',
      cause: { errno: 1146 },
    });
    await severed;
    await testPool().query(`RENAME TABLE ${table}_away TO ${table}`);
    expect(await store.commit(key, change)).toBe(2);
    expect((await store.load(key))?.messages).toEqual([...stored, ...change.append]);
  });

  it.each(['severBefore', 'severDuring', 'severReplyTo'] as const)(
    'while a lease is granted (%s) leaves it with who asked, and nobody else',
    async (sever) => {
      const { proxy, store } = await proxiedStore();
      await (await takeLease(store, key))?.release();
      const claim = claimOf('in-the-claim');
      const severed = proxy[sever]('in-the-claim');
      const lease = await takeLease(store, key, { claim });
      await severed;
      expect(lease).toBeDefined();
      expect(await takeLease(store, key)).toBeUndefined();
      expect(await lease?.confirm()).toBe(true);
    },
  );

  it('because the server ended it is replaced', async () => {
    const { pool, store } = await testStore({ connectionLimit: 1 });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    const [[connection]] = await pool.query<RowDataPacket[]>('SELECT CONNECTION_ID() AS id');
    await testPool().query(`KILL ${connection?.id}`);
    expect(await store.load(key)).toMatchObject({ version: 1 });
  });

  it('because it was idle for too long is replaced, all of a pool at once', async () => {
    const { pool, table, store } = await testStore({ connectionLimit: 8 });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    const connections = await Promise.all(Array.from({ length: 8 }, () => pool.getConnection()));
    for (const connection of connections) await connection.query('SET SESSION wait_timeout = 1');
    const ids = connections.map(({ threadId }) => threadId);
    for (const connection of connections) connection.release();
    const observer = testPool();
    const alive = async () => {
      const [rows] = await observer.query<RowDataPacket[]>(
        'SELECT id FROM information_schema.processlist WHERE id IN (?)',
        [ids],
      );
      return rows.length;
    };
    await expect.poll(alive).toBe(0);
    const again = new MysqlSession({ pool, table });
    expect(await commitAt(again, key, { expectedVersion: 1, head, keep: 1, append: [] })).toBe(2);
    expect(await store.load(key)).toMatchObject({ version: 2 });
  });
});

describe('what is too large for the server', () => {
  it('is refused before anything is written, and the error says what to do', async () => {
    const { pool, store } = await testStore();
    const [[row]] = await pool.query<RowDataPacket[]>('SELECT @@max_allowed_packet AS bytes');
    const text = 'x'.repeat(Number(row?.bytes));
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    for (const change of [
      { head, append: [userMessage('small'), userMessage(text)] },
      { head: { text }, append: [] },
    ]) {
      const refused = commitAt(store, key, { expectedVersion: 1, keep: 1, ...change });
      await expect(refused).rejects.toBeInstanceOf(SessionStoreError);
      await expect(refused).rejects.toThrow(/max_allowed_packet.*\d+ bytes/);
      await expect(refused).rejects.toMatchObject({ outcome: 'none' });
    }
    expect(await store.load(key)).toMatchObject({ version: 1, messages: [{}] });

    const session = await openSession(store, SessionKey.of('another'));
    session.state.contextMutable().push(userMessage(text));
    await expect(session.commit()).rejects.toMatchObject({ outcome: 'none' });
    session.state.contextMutable().splice(0, 1, userMessage('small'));
    expect(await session.commit()).toBe(1);
  });
});

it('a connection to what a failover made a replica is left, and the commit goes over the next one', async () => {
  const { pool, store } = await testStore({ connectionLimit: 1 });
  await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
  const threads = async () => (await pool.query<RowDataPacket[]>('SELECT CONNECTION_ID() AS id'))[0][0]?.id;
  await pool.query('SET SESSION TRANSACTION READ ONLY');
  const before = await threads();
  expect(await commitAt(store, key, { expectedVersion: 1, head, keep: 1, append: messages(1) })).toBe(2);
  expect(await threads()).not.toBe(before);
});

it('a server that is only a replica rejects a commit with a transient error', async () => {
  const { pool, store } = await testStore();
  pool.pool.on('connection', (connection) => connection.query('SET SESSION TRANSACTION READ ONLY'));
  await pool.query('SET SESSION TRANSACTION READ ONLY');
  const commit = commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
  await expect(commit).rejects.toMatchObject({ outcome: 'none', isTransient: true });
});

describe('another transaction in the way', () => {
  it('makes a commit wait, and then it is done', async () => {
    const { pool, table, store } = await testStore();
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const other = await pool.getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET head = head`);
    const committed = commitAt(store, key, { expectedVersion: 1, head, keep: 0, append: messages(1) });
    await other.rollback();
    other.release();
    expect(await committed).toBe(2);
  });

  it.each([
    ['the commit', 500],
    ['the other', 0],
  ])(
    'that waits for the commit in turn is a deadlock; when %s is given up, the commit is made all the same',
    async (_, weight) => {
      const { pool, table, store } = await testStore();
      await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
      const [[{ id } = { id: 0 }]] = await pool.query<RowDataPacket[]>(`SELECT id FROM ${table}`);
      const before = await deadlocks(pool);
      const other = await pool.getConnection();
      await other.beginTransaction();
      // Of two who deadlock, the server gives up the one that has changed less.
      const rows = Array.from({ length: weight }, (_, seq) => [id + 1, seq, '{}']);
      if (rows.length > 0) await other.query(`INSERT INTO ${table}_messages VALUES ?`, [rows]);
      await other.query(`INSERT INTO ${table}_messages VALUES (?, 1, '{}')`, [id]);
      // Too large for the row of the session.
      const append = messages(4, 'x'.repeat(TAIL_BYTES / 4));
      const committed = commitAt(store, key, { expectedVersion: 1, head, keep: 0, append });
      await waiting(pool, table, 1);
      const deadlocked = await other.query(`UPDATE ${table} SET head = '{}'`).catch((error) => error);
      expect(deadlocked.errno).toBe(weight === 0 ? 1213 : undefined);
      await other.rollback();
      other.release();
      expect(await committed).toBe(2);
      expect((await store.load(key))?.messages).toHaveLength(4);
      expect(await deadlocks(pool)).toBeGreaterThan(before);
    },
  );

  it('for too long is an error, and nothing was written', async () => {
    const { pool, table, store } = await testStore({ connectionLimit: 1 });
    await commitAt(store, key, { expectedVersion: 0, head, keep: 0, append: [] });
    const other = await testPool().getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET version = version`);
    // 0 seconds: whoever would have to wait is told so at once.
    await pool.query('SET SESSION innodb_lock_wait_timeout = 0');
    const refused = commitAt(store, key, { expectedVersion: 1, head, keep: 0, append: messages(1) });
    await expect(refused).rejects.toMatchObject({ code: 'session_unavailable', cause: { errno: 1205 } });
    await other.rollback();
    other.release();
    expect(await store.load(key)).toMatchObject({ version: 1, messages: [] });
  });
});

async function deadlocks(pool: Pool): Promise<number> {
  const [[row]] = await pool.query<RowDataPacket[]>(`SHOW GLOBAL STATUS LIKE 'Innodb_deadlocks'`);
  return Number(row?.Value);
}

async function proxiedStore() {
  const { table } = await testStore();
  const { proxy, pool } = await proxiedPool();
  return { proxy, pool, table, store: new MysqlSession({ pool, table }) };
}
