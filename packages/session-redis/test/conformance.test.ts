import { randomUUID } from 'node:crypto';
import { encodeSegment, type SessionKey } from '@x/core';
import type { SeverableProxy } from '@x/testkit';
import { sessionStoreSuite } from '@x/testkit/suites';
import { RedisSession } from '../src/index.js';
import { proxiedClient } from './support/proxied-client.js';
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
      const left = await Promise.all(keysOf(key).map((name) => client.pttl(name)));
      return Math.max(...left);
    },
    expireIn: async (key, ms) => {
      const client = testClient();
      // At one time, as a commit sets them: a session is gone as a whole.
      const at = Date.now() + ms;
      await Promise.all(keysOf(key).map((name) => client.pexpireat(name, at)));
    },
  },
  faults: {
    cut: (when) => {
      const sever = { before: proxy.severBefore, during: proxy.severDuring, after: proxy.severReplyTo };
      void sever[when]('');
    },
  },
});

/** Where a user's session without an agent lies. */
function keysOf({ parts: { userId = '', sessionId } }: SessionKey): string[] {
  const session = encodeSegment(sessionId);
  return ['session', 'messages'].map((part) => `${keyPrefix}{/${encodeSegment(userId)}}:${part}:/${session}`);
}
