import {
  copyStore,
  deleteOlderThan,
  eraseUser,
  InMemorySession,
  SessionKey,
  SessionLeaseError,
} from '@x/core';
import { takeTurn } from '@x/core/internal';
import { commitAt, takeLease } from '@x/test-support';
import { expect, it, onTestFinished } from 'vitest';
import { redis } from '../../../tooling/services/redis.js';
import { ownServers, resolve } from '../../../tooling/services/resolve.js';
import { RedisSession, RedisWorkspace } from '../src/index.js';
import { messages, testClient } from './support/test-store.js';

it('a Redis that is full keeps running turns, and is emptied by retention, moves and erasure', async () => {
  const server = await resolve(redis, ownServers);
  onTestFinished(server.stop);
  const client = testClient(server.address);
  const [store, other] = [
    new RedisSession({ client }),
    new RedisSession({ client: testClient(server.address) }),
  ];
  const keyOf = (userId: string, sessionId: string) => SessionKey.of({ userId, sessionId });
  const change = { expectedVersion: 0, head: {}, keep: 0, append: messages(3) };
  const users = ['old', 'moved', 'erased', 'running'];
  for (const user of users)
    for (const sessionId of ['a', 'b']) await commitAt(store, keyOf(user, sessionId), change);
  const running = keyOf('running', 'a');
  const turn = await takeTurn(store, running, { processTtlMs: 1_000 });
  await client.config('SET', 'maxmemory-policy', 'noeviction');
  await client.config('SET', 'maxmemory', '1');
  await expect(commitAt(store, keyOf('new', 'a'), change)).rejects.toMatchObject({ outcome: 'none' });
  await expect(takeLease(store, keyOf('new', 'a'))).rejects.toMatchObject({ outcome: 'none' });

  await expect(new RedisWorkspace({ client }).write('note.txt', 'x')).rejects.toMatchObject({
    code: 'workspace_io',
    message: expect.stringMatching(/Redis rejected the command: .*OOM.* Nothing was written\.$/),
  });

  const olderThan = new Date(Date.now() + 60_000);
  expect(await deleteOlderThan(store, { olderThan, scope: { userId: 'old' } })).toBe(2);
  const report = await copyStore(store, new InMemorySession(), { scope: { userId: 'moved' }, move: true });
  expect(report).toMatchObject({ copied: 2, busy: [], conflicts: [] });
  const places = { session: store, storage: new RedisWorkspace({ client }) };
  expect(await eraseUser(places, { userId: 'erased' })).toMatchObject({ sessions: 2, busy: [] });
  expect(await eraseUser(places, { userId: 'running' })).toMatchObject({
    sessions: 1,
    busy: [{ key: running }],
  });

  // For longer than the record of a process lasts.
  const looks = new Set<number | undefined>();
  const { process = '' } = (await store.leases.find(running)) ?? {};
  while (looks.size < 10) looks.add(await other.leases.processes.look(process));
  expect(looks).not.toContain(undefined);
  await turn.certain();
  expect(turn.lost.aborted).toBe(false);
  await expect(takeTurn(other, running, { turns: 'reject' })).rejects.toThrow();
  await turn.release();
  await client.config('SET', 'maxmemory', '0');
  const next = await takeTurn(other, running, { turns: 'reject' });
  expect(next.fence).toBeGreaterThan(turn.fence ?? Number.NaN);
  await next.release();
  expect(SessionLeaseError.isInstance(turn.lost.reason)).toBe(false);
});
