import { SessionKey, SessionStoreError } from '@x/core';
import { createPool, type RowDataPacket } from 'mysql2/promise';
import { describe, expect, inject, it, onTestFinished } from 'vitest';
import { severableProxy } from '../../session-redis/test/support/severable-proxy.js';
import { MysqlSession } from '../src/index.js';
import { collect, messages, testPool, testStore } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });
const head = { sessionId: 's-1' };

describe('a connection that breaks', () => {
  it('fails every method with a typed error, and never answers "no session"', async () => {
    const { proxy, store } = await proxiedStore();
    await store.commit(key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    proxy.sever();
    const attempts = [
      store.load(key),
      store.commit(key, { expectedVersion: 1, head, keep: 1, append: [] }),
      store.delete(key),
      collect(store.list()),
      store.migrate(),
    ];
    for (const result of await Promise.allSettled(attempts)) {
      expect(result).toMatchObject({
        status: 'rejected',
        reason: { code: 'session_unavailable', cause: expect.any(Error) },
      });
      expect((result as PromiseRejectedResult).reason).toSatisfy(SessionStoreError.isInstance);
    }
  });

  it.each([0, 1, 'any'] as const)(
    'while it commits does not commit twice (expected version: %s)',
    async (expectedVersion) => {
      const { proxy, store } = await proxiedStore();
      const [first, second] = messages(2);
      if (expectedVersion !== 0) {
        await store.commit(key, { expectedVersion: 0, head, keep: 0, append: [first] });
      }
      const stored = (await store.load(key))?.messages ?? [];
      proxy.severReplyTo('COMMIT');
      const change = { expectedVersion, head, keep: stored.length, append: [second] };
      expect(await store.commit(key, change)).toBe(expectedVersion === 0 ? 1 : 2);
      expect((await store.load(key))?.messages).toEqual([...stored, second]);
    },
  );

  it('before it commits leaves nothing, and the change is made once over another connection', async () => {
    const { proxy, store } = await proxiedStore();
    const [first, second] = messages(2);
    await store.commit(key, { expectedVersion: 0, head, keep: 0, append: [first] });
    proxy.severReplyTo(second.id);
    expect(await store.commit(key, { expectedVersion: 1, head, keep: 1, append: [second] })).toBe(2);
    expect((await store.load(key))?.messages).toEqual([first, second]);
  });

  it('because the server ended it is replaced', async () => {
    const { pool, store } = await testStore({ connectionLimit: 1 });
    await store.commit(key, { expectedVersion: 0, head, keep: 0, append: messages(1) });
    const [[connection]] = await pool.query<RowDataPacket[]>('SELECT CONNECTION_ID() AS id');
    await testPool().query(`KILL ${connection?.id}`);
    expect(await store.load(key)).toMatchObject({ version: 1 });
  });
});

describe('another transaction in the way', () => {
  it('makes a commit wait, and then it is done', async () => {
    const { pool, table, store } = await testStore();
    await store.commit(key, { expectedVersion: 0, head, keep: 0, append: [] });
    const other = await pool.getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET head = head`);
    const committed = store.commit(key, { expectedVersion: 1, head, keep: 0, append: messages(1) });
    await other.rollback();
    other.release();
    expect(await committed).toBe(2);
  });

  it('for too long is an error, and nothing was written', async () => {
    const { pool, table, store } = await testStore({ connectionLimit: 1 });
    await store.commit(key, { expectedVersion: 0, head, keep: 0, append: [] });
    const other = await testPool().getConnection();
    await other.beginTransaction();
    await other.query(`UPDATE ${table} SET version = version`);
    // 0 seconds: whoever would have to wait is told so at once.
    await pool.query('SET SESSION innodb_lock_wait_timeout = 0');
    const refused = store.commit(key, { expectedVersion: 1, head, keep: 0, append: messages(1) });
    await expect(refused).rejects.toMatchObject({ code: 'session_unavailable', cause: { errno: 1205 } });
    await other.rollback();
    other.release();
    expect(await store.load(key)).toMatchObject({ version: 1, messages: [] });
  });
});

async function proxiedStore() {
  const { table } = await testStore();
  const url = new URL(inject('mysqlUrl'));
  const proxy = await severableProxy(url.hostname, Number(url.port));
  url.hostname = '127.0.0.1';
  url.port = String(proxy.port);
  const pool = createPool(url.href);
  onTestFinished(async () => {
    await pool.end().catch(() => {});
    await proxy.close();
  });
  return { proxy, store: new MysqlSession({ pool, table }) };
}
