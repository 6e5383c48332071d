import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import type { Pool, RowDataPacket } from 'mysql2/promise';
import { describe, expect, it } from 'vitest';
import { MysqlSession } from '../src/index.js';
import { collect, messages, testPool, uniqueTable } from './support/test-store.js';
import { writeVersionOne } from './support/version-one.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-1' });

describe('tables of version 1', () => {
  it('are brought up to date with everything in them', async () => {
    const { store } = await versionOne();
    const before = await store.load(key);
    expect(before).toEqual({
      token: expect.stringMatching(/^[\w-]{16}$/),
      version: 3,
      head: { sessionId: 's-1', note: '日本語' },
      messages: [
        expect.objectContaining({ id: 'm-1', content: [{ type: 'text', text: 'Hello 😀' }] }),
        expect.objectContaining({ id: 'm-2' }),
      ],
      updatedAt: '2026-01-02T03:04:05.678Z',
    });
    await store.migrate();
    expect(await store.load(key)).toEqual(before);
    expect(await collect(store.list({ userId: 'alice' }))).toMatchObject([{ version: 3 }]);
    expect(await commitAt(store, key, { expectedVersion: 3, head: {}, keep: 2, append: messages(1) })).toBe(
      4,
    );
    expect((await store.load(key))?.messages).toHaveLength(3);
    expect(await store.deleteOlderThan({ olderThan: new Date('2026-02-01') })).toBe(0);
  });

  it('have sessions that can be deleted by the age they had', async () => {
    const { store } = await versionOne();
    await store.migrate();
    expect(await store.deleteOlderThan({ olderThan: new Date('2026-01-02T03:04:05.678Z') })).toBe(0);
    expect(await store.deleteOlderThan({ olderThan: new Date('2026-01-02T03:04:05.679Z') })).toBe(1);
    expect(await store.load(key)).toBeUndefined();
  });

  it('become what new tables are, also by many at the same time, and after a crash on the way', async () => {
    const { pool, table, store } = await versionOne();
    const stores = Array.from({ length: 6 }, () => new MysqlSession({ pool: testPool(), table }));
    await Promise.all(stores.map((each) => each.migrate()));
    await pool.query(`UPDATE ${table}_schema SET version = 1`);
    await pool.query(`DROP TABLE ${table}_leases`);
    await store.migrate();
    const fresh = uniqueTable();
    await new MysqlSession({ pool, table: fresh }).migrate();
    for (const suffix of ['', '_messages', '_leases', '_schema']) {
      expect(await shape(pool, table + suffix)).toEqual(await shape(pool, fresh + suffix));
    }
    expect(await store.load(key)).toMatchObject({ version: 3 });
  });

  it('are brought up to date beside a writer of the earlier release, by statements that hold nobody up', async () => {
    const { table } = await versionOne();
    const pool = testPool();
    // As the release did that found what is old by its day.
    await pool.query(
      `ALTER TABLE ${table} ADD COLUMN updated_on DATE GENERATED ALWAYS AS (DATE(updated_at)) VIRTUAL, ADD KEY by_day (updated_on)`,
    );
    const rows = Array.from({ length: 2_000 }, (_, id) => {
      const hash = Buffer.alloc(32, `${id} `);
      return [
        1_000 + id,
        hash,
        `///${id}`,
        hash.subarray(0, 16),
        1,
        0,
        '{}',
        hash.subarray(0, 12),
        new Date(),
      ];
    });
    await pool.query(
      `INSERT INTO ${table} (id, key_hash, session_key, session_hash, version, message_count, head, operation, updated_at) VALUES ?`,
      [rows],
    );
    const altered: string[] = [];
    const connect = pool.getConnection.bind(pool);
    pool.getConnection = async () => {
      const connection = await connect();
      const query = connection.query.bind(connection) as (...all: unknown[]) => unknown;
      connection.query = ((...all: unknown[]) => {
        if (/^\s*ALTER/.test(String(all[0]))) altered.push(String(all[0]));
        return query(...all);
      }) as typeof connection.query;
      return connection;
    };
    const writer = testPool();
    const write = () => writer.query(`UPDATE ${table} SET version = version + 1, head = '{}' WHERE id = 7`);
    let isMigrated = false;
    let written = 0;
    const writing = (async () => {
      for (; !isMigrated; written++) await write();
    })();
    const store = new MysqlSession({ pool, table });
    await store.migrate();
    isMigrated = true;
    await writing;
    expect(altered.length).toBeGreaterThan(5);
    // A server that cannot do one so says so, and it is sent again without these words.
    for (const statement of altered) {
      expect(statement).toMatch(/, ALGORITHM=(INSTANT|INPLACE, LOCK=NONE)\s*$/);
    }
    expect(written).toBeGreaterThan(0);
    expect(await store.load(key)).toMatchObject({ version: 3 + written, messages: [{}, {}] });
  });

  it('need it to be written to, and say so', async () => {
    const { store } = await versionOne();
    await expect(store.lease(key, { ttlMs: 1_000 })).rejects.toThrow('call migrate()');
    const commit = commitAt(store, key, { expectedVersion: 3, head: {}, keep: 1, append: [] });
    await expect(commit).rejects.toThrow('call migrate()');
    await expect(commit).rejects.toMatchObject({ outcome: 'none' });
  });
});

async function versionOne() {
  const pool = testPool();
  const table = uniqueTable();
  await writeVersionOne(pool, table, key);
  return { pool, table, store: new MysqlSession({ pool, table }) };
}

/** The definition without what differs between any two tables. */
async function shape(pool: Pool, table: string): Promise<string> {
  const [[row]] = await pool.query<RowDataPacket[]>(`SHOW CREATE TABLE ${table}`);
  return String(row?.['Create Table'])
    .replace(table, '#')
    .replace(/ AUTO_INCREMENT=\d+/, '');
}
