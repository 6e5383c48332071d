import { SessionKey, userMessage } from '@x/core';
import { commitAt } from '@x/test-support';
import { createPool } from 'mysql2/promise';
import { expect, it, onTestFinished } from 'vitest';
import { durableMariadb } from '../../../tooling/services/mariadb.js';
import { ownServers, resolve } from '../../../tooling/services/resolve.js';
import { MysqlSession } from '../src/index.js';

const MIB = 1 << 20;

it('a server that takes packets of 1 MB takes a commit whose values come close to that together', async () => {
  const server = await resolve(durableMariadb, ownServers);
  onTestFinished(server.stop);
  const setUp = createPool(server.address);
  onTestFinished(() => setUp.end());
  await setUp.query(`SET GLOBAL max_allowed_packet = ${MIB}`);
  const pool = createPool(server.address);
  onTestFinished(() => pool.end());
  const store = new MysqlSession({ pool });
  await store.createTables();
  const key = SessionKey.of('s');
  const empty = JSON.stringify(userMessage('')).length;
  // 64 rows in one insert.
  const append = () => Array.from({ length: 64 }, () => userMessage('x'.repeat(MIB / 64 - empty)));
  for (const version of [0, 1]) {
    const change = { expectedVersion: version, head: {}, keep: 64 * version, append: append() };
    expect(await commitAt(store, key, change)).toBe(version + 1);
  }
  const half = 'x'.repeat(MIB / 2);
  const described = { expectedVersion: 2, keep: 128, append: [], head: { metadata: { half } } };
  await expect(commitAt(store, key, described)).rejects.toMatchObject({ outcome: 'none' });
  expect((await store.load(key))?.messages).toHaveLength(128);
});
