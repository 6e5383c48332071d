import type { RedisClient } from './redis-client.js';

const asked = new WeakSet<RedisClient>();

/**
 * Warns once per client if Redis may evict keys, because it would drop sessions or parts of them. Runs in the background. If the user
 * may not read the setting, there is no warning.
 */
export function warnOfEviction(client: RedisClient): void {
  if (asked.has(client)) return;
  asked.add(client);
  // Deferred, so that the caller's command is sent first. If the client is closed in the meantime, the call rejects.
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
