import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient, RedisValue } from '../redis-client.js';
import type { Script } from './script.js';

/** How long a script waits for its slot to have moved, in all; a slot is rarely on its way for longer. */
const MOVE_MS = 5_000;
const MOVE_POLL_MS = 50;

/** Runs a script by its hash, and by its text where the server does not know it yet: one round trip but the first. */
export function runScript(
  client: RedisClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly RedisValue[],
): Promise<unknown> {
  const keysAndValues = keys.concat(values as readonly string[]);
  return run(
    () => client.evalsha(sha1, keys.length, keysAndValues),
    () => client.eval(source, keys.length, keysAndValues),
  );
}

/** {@link runScript} for replies that are bytes. */
export function runScriptForBytes(
  client: RedisClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly RedisValue[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...values];
  return run(
    () => client.callBuffer('evalsha', [sha1, ...rest]),
    () => client.callBuffer('eval', [source, ...rest]),
  );
}

async function run(byHash: () => Promise<unknown>, byText: () => Promise<unknown>): Promise<unknown> {
  let call = byHash;
  for (let waited = 0; ; ) {
    try {
      return await call();
    } catch (error) {
      if (startsWith(error, 'NOSCRIPT') && call === byHash) {
        call = byText;
      } else if (startsWith(error, 'TRYAGAIN') && waited < MOVE_MS) {
        // A Cluster moves the slot, and some of the keys are here, some there. Nothing was done.
        waited += MOVE_POLL_MS;
        await sleep(MOVE_POLL_MS);
      } else {
        throw error;
      }
    }
  }
}

function startsWith(error: unknown, code: string): boolean {
  return error instanceof Error && error.message.startsWith(code);
}
