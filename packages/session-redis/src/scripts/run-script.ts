import type { RedisClient, RedisValue } from '../redis-client.js';
import type { Script } from './script.js';

/** Runs a script by its hash, and by its text where the server does not know it yet: one round trip but the first. */
export async function runScript(
  client: RedisClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly RedisValue[],
): Promise<unknown> {
  const keysAndValues = keys.concat(values as readonly string[]);
  try {
    return await client.evalsha(sha1, keys.length, keysAndValues);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return client.eval(source, keys.length, keysAndValues);
  }
}

/** {@link runScript} for replies that are bytes. */
export async function runScriptForBytes(
  client: RedisClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly RedisValue[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...values];
  try {
    return await client.callBuffer('evalsha', [sha1, ...rest]);
  } catch (error) {
    if (!isUnknownScript(error)) throw error;
    return client.callBuffer('eval', [source, ...rest]);
  }
}

function isUnknownScript(error: unknown): boolean {
  return error instanceof Error && error.message.startsWith('NOSCRIPT');
}
