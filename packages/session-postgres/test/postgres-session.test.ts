import { randomBytes } from 'node:crypto';
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { SessionKey, userMessage } from '@x/core';
import { operationId } from '@x/core/store';
import { checkWrongClocks, commitAt, severableProxy } from '@x/test-support';
import { storedSuite } from '@x/test-support/suites';
import { sessionStoreSuite } from '@x/testkit/suites';
import { Pool, type PoolConfig } from 'pg';
import { afterAll, describe, expect, inject, it } from 'vitest';
import { PostgresSession } from '../src/index.js';
import { storedInPostgres } from './stored.js';

const pools: Pool[] = [];
afterAll(async () => {
  for (const pool of pools) await pool.end();
});
function poolOf(options: PoolConfig = {}): Pool {
  const pool = new Pool({ connectionString: inject('postgresUrl'), ...options });
  // What ended a connection that nobody used.
  pool.on('error', () => {});
  pools.push(pool);
  return pool;
}
let direct: Pool | undefined;
function shared(): Pool {
  direct ??= poolOf();
  return direct;
}
const nextTable = () => `t_${randomBytes(6).toString('hex')}`;
let table: string;
async function fresh(pool = shared()): Promise<PostgresSession> {
  table = nextTable();
  const store = new PostgresSession({ pool, table });
  await new PostgresSession({ pool: shared(), table }).createTables();
  return store;
}
const key = SessionKey.of({ userId: 'u', sessionId: 's' });

sessionStoreSuite({
  name: 'PostgresSession',
  create: () => fresh(),
  reopen: () => new PostgresSession({ pool: poolOf(), table }),
  setFormat: async (_, format) => {
    await shared().query(`UPDATE ${table}_format SET format = ${format}`);
  },
  damage: async (of) => {
    const damage = `SET head = '{', created_at = 'infinity', updated_at = 'infinity'`;
    await shared().query(`UPDATE ${table} ${damage} WHERE session_key = $1`, [`${of}`]);
  },
});

storedSuite('PostgresSession', storedInPostgres(shared, nextTable));

describe('PostgresSession', () => {
  it('takes no session and locks none by a wrong clock', async () => {
    const store = await fresh();
    await checkWrongClocks(store, new PostgresSession({ pool: poolOf(), table }));
  });

  it('beats while the application holds all connections of the pool, which keeps its size', async () => {
    const pool = poolOf({ max: 1 });
    const store = await fresh(pool);
    const { processes } = store.leases;
    await store.load(key);
    const held = await pool.connect();
    const waiting = store.load(key);
    await processes.beat({ id: 'busy', ttlMs: 60_000 }, []);
    expect(await processes.look('busy')).toBe(1);
    expect([pool.totalCount, pool.waitingCount, pool.options.max]).toEqual([1, 1, 1]);
    held.release();
    expect(await waiting).toBeUndefined();
    await processes.beat({ id: 'busy', ttlMs: 60_000 }, []);
    expect([await processes.look('busy'), pool.totalCount, pool.idleCount]).toEqual([2, 1, 1]);
  });

  it('commits in one statement, and says so when it is called before migrate', async () => {
    const pool = poolOf();
    const store = new PostgresSession({ pool, table: 'not_there' });
    const change = {
      operation: operationId(),
      expected: undefined,
      head: {},
      keep: 0,
      append: [userMessage('Hi')],
    };
    await expect(store.commit(key, change)).rejects.toThrow('Call createTables()');
    await store.createTables();
    await Promise.all([store.createTables(), store.createTables()]);
    await store.commit(key, change);
    const statements: unknown[] = [];
    pool.on('acquire', () => statements.push(1));
    await store.commit(key, { ...change, operation: operationId(), expected: change.operation, keep: 1 });
    expect(statements).toHaveLength(1);
    for (const [format, code] of [
      [0, 'session_older'],
      [2, 'session_newer'],
    ]) {
      await pool.query(`UPDATE not_there_format SET format = ${format}`);
      await expect(store.createTables()).rejects.toMatchObject({ code });
    }
    await pool.query('DELETE FROM not_there_format');
    await expect(new PostgresSession({ pool, table: 'not_there' }).load(key)).rejects.toMatchObject({
      code: 'session_corrupt',
      message: expect.stringContaining('not_there does not contain the format'),
    });
  });

  it('prepares its commit once, and commits without that behind a pooler that loses prepared statements', async () => {
    const pool = poolOf({ max: 1 });
    const store = await fresh(pool);
    const commit = (version: number) =>
      commitAt(store, key, {
        expectedVersion: version,
        head: {},
        keep: version,
        append: [userMessage('Hi')],
      });
    const prepared = async () => (await pool.query('SELECT name FROM pg_prepared_statements')).rows.length;
    for (let version = 0; version < 3; version++) await commit(version);
    expect(await prepared()).toBe(1);
    await pool.query('DEALLOCATE ALL');
    expect([await commit(3), await commit(4), await prepared()]).toEqual([4, 5, 0]);
    expect((await store.load(key))?.messages).toHaveLength(5);
  });

  it('commits to two tables by one connection, and where another client has prepared its statement', async () => {
    const namesIn = async (pool: Pool) =>
      (await pool.query('SELECT name FROM pg_prepared_statements')).rows.map(({ name }) => String(name));
    const change = (version: number) => ({
      ...{ expectedVersion: version, head: {}, keep: version },
      append: [userMessage('Hi')],
    });
    const pool = poolOf({ max: 1 });
    for (const store of [await fresh(pool), await fresh(pool)])
      for (const version of [0, 1]) await commitAt(store, key, change(version));
    const names = await namesIn(pool);
    expect(names).toHaveLength(2);
    const other = poolOf({ max: 1 });
    for (const name of names) await other.query(`PREPARE "${name}" AS SELECT 1`);
    expect(await commitAt(new PostgresSession({ pool: other, table }), key, change(2))).toBe(3);
    expect(await namesIn(other)).toEqual(names);
  });

  it.each(['severBefore', 'severDuring', 'severReplyTo'] as const)(
    'a commit at whose statement the connection breaks (%s) is made once',
    async (sever) => {
      const address = new URL(inject('postgresUrl'));
      const proxy = await severableProxy(address.hostname, Number(address.port));
      address.port = String(proxy.port);
      const store = await fresh(poolOf({ connectionString: address.href }));
      await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [userMessage('first')] });
      const severed = proxy[sever]('in the message');
      const append = [userMessage('in the message')];
      expect(await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 1, append })).toBe(2);
      await severed;
      expect((await store.load(key))?.messages).toHaveLength(2);
      await proxy.close();
    },
  );

  it('does not say after a lost reply that nothing was written, whatever is refused then', async () => {
    const address = new URL(inject('postgresUrl'));
    const proxy = await severableProxy(address.hostname, Number(address.port));
    address.port = String(proxy.port);
    const pool = poolOf({ connectionString: address.href });
    const store = await fresh(pool);
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [userMessage('first')] });
    const change = {
      operation: operationId(),
      expected: (await store.load(key))?.token,
      head: {},
      keep: 1,
      append: [userMessage('in the message')],
    };
    const connect = pool.connect.bind(pool);
    let attempts = 0;
    pool.connect = (async () => {
      if (++attempts === 2) await shared().query(`ALTER TABLE ${table} RENAME TO ${table}_away`);
      return connect();
    }) as typeof pool.connect;
    const severed = proxy.severReplyTo('in the message');
    await expect(store.commit(key, change)).rejects.toMatchObject({
      outcome: 'unknown',
      cause: { code: '42P01' },
    });
    await severed;
    await shared().query(`ALTER TABLE ${table}_away RENAME TO ${table}`);
    expect(await store.commit(key, change)).toBe(2);
    expect((await store.load(key))?.messages).toHaveLength(2);
    await proxy.close();
  });

  it('leaves a connection to what a failover made a replica, and commits over the next one', async () => {
    const pool = new Pool({ connectionString: inject('postgresUrl'), max: 1 });
    pools.push(pool);
    const store = await fresh(pool);
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append: [userMessage('first')] });
    const backend = async () => (await pool.query('SELECT pg_backend_pid() AS id')).rows[0]?.id;
    await pool.query('SET SESSION CHARACTERISTICS AS TRANSACTION READ ONLY');
    const before = await backend();
    const append = [userMessage('second')];
    expect(await commitAt(store, key, { expectedVersion: 1, head: {}, keep: 1, append })).toBe(2);
    expect(await backend()).not.toBe(before);
  });

  it('rejects a commit with a transient error on a replica, and does not know its outcome after a timeout', async () => {
    await fresh();
    const storeWith = (options: string) => {
      const pool = new Pool({ connectionString: inject('postgresUrl'), max: 1, options });
      pools.push(pool);
      return new PostgresSession({ pool, table });
    };
    const change = { expectedVersion: 0, head: {}, keep: 0, append: [userMessage('first')] };
    const replica = storeWith('-c default_transaction_read_only=on');
    const rejection = { outcome: 'none', isTransient: true };
    await expect(commitAt(replica, key, change)).rejects.toMatchObject(rejection);
    const other = await shared().connect();
    await other.query('BEGIN');
    await other.query(`LOCK TABLE ${table} IN ACCESS EXCLUSIVE MODE`);
    const commit = storeWith('-c statement_timeout=100').commit(key, {
      ...{ operation: operationId(), expected: undefined, head: {}, keep: 0, append: [] },
    });
    await expect(commit).rejects.toMatchObject({ outcome: 'unknown' });
    await other.query('ROLLBACK');
    other.release();
  });

  it('tells what was lost in the database as damage', async () => {
    const store = await fresh();
    const append = [userMessage('one'), userMessage('two')];
    await commitAt(store, key, { expectedVersion: 0, head: {}, keep: 0, append });
    await shared().query(`UPDATE ${table}_messages SET seq = 7 WHERE seq = 1`);
    await expect(store.load(key)).rejects.toMatchObject({ code: 'session_corrupt' });
  });

  it('refuses what is no pool, and a name that is none', () => {
    expect(() => new PostgresSession({ pool: {} as never })).toThrow('pool: must be a Pool of pg');
    expect(() => new PostgresSession({ pool: shared(), table: 'A B' })).toThrow('table');
    expect(() => new PostgresSession({ pool: shared(), table: '1st' })).toThrow('no digit first');
  });
});

it('outlives a server that ends a connection in one packet with its beginning', async () => {
  const packet = (type: string, body: string) => {
    const bytes = Buffer.from(`${type}????${body}`, 'latin1');
    bytes.writeInt32BE(bytes.length - 1, 1);
    return bytes;
  };
  const fatal = packet('E', 'SFATAL\0C57P01\0Mterminating connection due to unexpected postmaster exit\0\0');
  const ready = [packet('R', '\0\0\0\0'), packet('Z', 'I')];
  const server = createServer((socket) => {
    socket.on('error', () => {});
    socket.once('data', () => socket.end(Buffer.concat([...ready, fatal])));
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as AddressInfo;
  const store = new PostgresSession({
    pool: poolOf({ connectionString: `postgres://u@127.0.0.1:${port}/d` }),
    table: 't',
  });
  await expect(store.load(key)).rejects.toMatchObject({ code: 'session_unavailable' });
  server.close();
});
