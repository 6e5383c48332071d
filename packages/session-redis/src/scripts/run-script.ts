import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient, RedisValue } from '../redis-client.js';

/** Lua that Redis runs whole or not at all, and by whose hash it is called. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/** How long an operation waits for its slot to have moved, in all; a slot is rarely on its way for longer. */
const MOVE_MS = 30_000;
const MOVE_POLL_MS = 50;
const MOVING =
  /\b(TRYAGAIN|ASK|MOVED|CLUSTERDOWN)\b|Too many Cluster redirections|attempted to access a non local key/;

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
  return whileSlotMoves(() =>
    byHash().catch((error: unknown) => {
      if (!/^NOSCRIPT/.test(textOf(error))) throw error;
      return byText();
    }),
  );
}

/**
 * Does something, again while a Cluster moves the slot that it needs, for half a minute at most: some of the keys are here
 * then, some there, and nothing was done. Clients give up earlier, with words of their own around those of the server.
 */
export async function whileSlotMoves<T>(task: () => Promise<T>): Promise<T> {
  const deadline = performance.now() + MOVE_MS;
  for (;;) {
    try {
      return await task();
    } catch (error) {
      if (!MOVING.test(textOf(error)) || performance.now() > deadline) throw error;
      await sleep(MOVE_POLL_MS);
    }
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
