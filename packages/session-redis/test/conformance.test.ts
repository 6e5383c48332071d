import { randomUUID } from 'node:crypto';
import { encodeSegment, type SessionKey } from '@x/core';
import type { SeverableProxy } from '@x/testkit';
import { sessionStoreSuite } from '@x/testkit/suites';
import { RedisSession } from '../src/index.js';
import { proxiedClient } from './support/proxied-client.js';
import { messages, testClient } from './support/test-store.js';

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
      const left = await Promise.all(keysOf(key).map((name) => client.pttl(name)));
      return Math.max(...left);
    },
    expireIn: async (key, ms) => {
      const client = testClient();
      // At one time, as a commit sets them: a session is gone as a whole. And not so soon that the time comes while it is
      // set: Redis takes a key away at the very millisecond that it is told, and else only after it.
      const at = Date.now() + Math.max(ms, 200);
      const transaction = client.multi();
      for (const name of keysOf(key)) transaction.pexpireat(name, at);
      await transaction.exec();
    },
  },
  faults: {
    cut: (when) => {
      const sever = { before: proxy.severBefore, during: proxy.severDuring, after: proxy.severReplyTo };
      void sever[when]('');
    },
  },
  olderFormats: {
    'of the first release': async (key) => {
      const stored = { version: 3, head: { n: 0 }, messages: messages(2) };
      const client = testClient();
      const [session = '', list = ''] = keysOf(key);
      const { version, head } = stored;
      const fields = { version, count: 2, updatedAt: 1_700_000_000_000, operation: 'abc', expires: 'no' };
      await client.hset(session, { ...fields, head: JSON.stringify(head) });
      await client.rpush(list, ...stored.messages.map((message) => JSON.stringify(message)));
      await client.zadd(`${keyPrefix}{/u}:index`, '+inf', '/s');
      await client.set(`${keyPrefix}{/u}:listed`, 'yes');
      await client.zadd(`${keyPrefix}shards`, 0, 't:/u', 0, 'o:u/');
      return stored;
    },
  },
});

/** Where a user's session without an agent lies. */
function keysOf({ parts: { userId = '', sessionId } }: SessionKey): string[] {
  const session = encodeSegment(sessionId);
  return ['session', 'messages'].map((part) => `${keyPrefix}{/${encodeSegment(userId)}}:${part}:/${session}`);
}
