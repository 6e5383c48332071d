import { SessionKey } from '@x/core';
import { commitAt } from '@x/test-support';
import { expect, it, vi } from 'vitest';
import { RedisSession } from '../src/index.js';
import { messages, testClient } from './support/test-store.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's' });

it.each([
  ['allkeys-lru', 1],
  ['volatile-ttl', 1],
  ['noeviction', 0],
])('a Redis with the policy %s is warned of %d times, once a client', async (policy, times) => {
  const client = testClient();
  const info = vi.fn(async () => `# Memory\r\nmaxmemory_policy:${policy}\r\n`);
  // Its own question about its server is answered first.
  await client.ping();
  Object.assign(client, { info });
  const warn = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
  for (const keyPrefix of [`evicts-${policy}-a:`, `evicts-${policy}-b:`]) {
    const store = new RedisSession({ client, keyPrefix });
    for (const expectedVersion of [0, 1]) {
      await commitAt(store, key, { expectedVersion, head: {}, keep: 0, append: messages(1) });
    }
    await store.delete(key);
  }
  expect(info).toHaveBeenCalledTimes(1);
  expect(warn).toHaveBeenCalledTimes(times);
  if (times > 0) expect(String(warn.mock.calls[0]?.[0])).toContain(`maxmemory-policy ${policy}`);
  warn.mockRestore();
});
