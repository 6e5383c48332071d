import { randomUUID } from 'node:crypto';
import type { SeverableProxy } from '@x/test-support';
import { storedSuite } from '@x/test-support/suites';
import { sessionStoreSuite } from '@x/testkit/suites';
import { RedisSession } from '../src/index.js';
import { keysOf } from '../src/redis-keys.js';
import { proxiedClient } from './support/proxied-client.js';
import { storedInRedis } from './support/stored.js';
import { testClient } from './support/test-store.js';

const ttlSeconds = 3_600;
let keyPrefix: string;
let proxy: SeverableProxy;

sessionStoreSuite({
  name: 'RedisSession',
  create: async () => {
    const proxied = await proxiedClient({ retryStrategy: () => 1 });
    proxy = proxied.proxy;
    keyPrefix = `test:${randomUUID()}:`;
    return new RedisSession({ client: proxied.client, keyPrefix, ttlSeconds });
  },
  reopen: () => new RedisSession({ client: testClient(), keyPrefix, ttlSeconds }),
  expiry: {
    ttlMs: ttlSeconds * 1_000,
    remainingMs: async (key) => {
      const client = testClient();
      const left = await Promise.all(namesOf(keysOf(keyPrefix, key)).map((name) => client.pttl(name)));
      return Math.max(...left);
    },
    expireIn: async (key, ms) => {
      const client = testClient();
      // At one time, as a commit sets them: a session is gone as a whole. And not so soon that the time comes while it is
      // set: Redis takes a key away at the very millisecond that it is told, and else only after it.
      const at = Date.now() + Math.max(ms, 200);
      const transaction = client.multi();
      for (const name of namesOf(keysOf(keyPrefix, key))) transaction.pexpireat(name, at);
      await transaction.exec();
    },
  },
  setFormat: async (key, format) => {
    await testClient().hset(keysOf(keyPrefix, key).session, 'format', format);
  },
  damage: async (key) => {
    await testClient().hset(keysOf(keyPrefix, key).session, 'state', 'garbage');
  },
  faults: {
    cut: (when) => {
      const sever = { before: proxy.severBefore, during: proxy.severDuring, after: proxy.severReplyTo };
      void sever[when]('');
    },
  },
});

storedSuite('RedisSession', storedInRedis());

function namesOf({ session, messages }: ReturnType<typeof keysOf>): readonly string[] {
  return [session, messages];
}
