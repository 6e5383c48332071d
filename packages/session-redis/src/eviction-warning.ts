import type { RedisClient } from './redis-client.js';

const asked = new WeakSet<RedisClient>();

/**
 * Warns, once a client, of a Redis that may evict: then sessions are lost without a word, or lose a part. Nobody waits for the
 * answer, and who may not ask is told nothing.
 */
export function warnOfEviction(client: RedisClient): void {
  if (asked.has(client)) return;
  asked.add(client);
  // Later, so that what is wanted of Redis goes first. A client that is closed meanwhile rejects.
  Promise.resolve()
    .then(() => client.info?.('memory'))
    .then((info) => {
      const policy = /maxmemory_policy:(\S+)/.exec(String(info))?.[1];
      if (policy === undefined || policy === 'noeviction') return;
      process.emitWarning(
        `This Redis evicts keys when it is full (maxmemory-policy ${policy}), sessions included. Set maxmemory-policy ` +
          'noeviction, or use a separate Redis for sessions.',
        { type: 'RedisEvictionWarning', code: 'redis_evicts' },
      );
    })
    .catch(() => {});
}
