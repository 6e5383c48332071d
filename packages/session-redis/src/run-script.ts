import type { RedisClient } from './redis-client.js';
import type { Script } from './scripts.js';

/** Runs a script by its hash, and by its text where the server does not know it yet: one round trip but the first. */
export async function runScript(
  client: RedisClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly string[],
): Promise<unknown> {
  const keysAndValues = [...keys, ...values];
  try {
    return await client.evalsha(sha1, keys.length, keysAndValues);
  } catch (error) {
    if (!(error instanceof Error && error.message.startsWith('NOSCRIPT'))) throw error;
    return client.eval(source, keys.length, keysAndValues);
  }
}
