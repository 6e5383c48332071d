import { createHash } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import type { RedisClient, RedisValue } from '../redis-client.js';
import { isTransient } from '../store-error.js';

/** The function of a client that runs scripts. */
export type ScriptClient = Pick<RedisClient, 'callBuffer'>;

/** A Lua script, which Redis runs atomically and calls by its hash. */
export interface Script {
  readonly source: string;
  readonly sha1: string;
}

export function script(source: string): Script {
  return { source, sha1: createHash('sha1').update(source).digest('hex') };
}

/** Milliseconds for which a task is repeated in total, and the first and the longest pause in between. Slots rarely move longer. */
const PATIENCE_MS = 30_000;
const FIRST_PAUSE_MS = 50;
const LONGEST_PAUSE_MS = 500;
const MOVING =
  /\b(TRYAGAIN|ASK|MOVED|CLUSTERDOWN)\b|Too many Cluster redirections|attempted to access a non local key/;

/**
 * Wraps a client for scripts that are safe to repeat: it sends them again while Redis cannot be reached, or rejects them only for the
 * moment, as in a failover.
 */
export function patientClient(client: ScriptClient): ScriptClient {
  return { callBuffer: (...script) => repeated(() => client.callBuffer(...script), isTransient) };
}

/**
 * Runs a script by its hash, or by its text if the server does not know it yet. All runs but the first take one round trip. Texts in the
 * reply are bytes.
 */
export function runScript(
  client: ScriptClient,
  { source, sha1 }: Script,
  keys: readonly string[],
  values: readonly RedisValue[],
): Promise<unknown> {
  const rest = [String(keys.length), ...keys, ...values];
  return whileSlotMoves(() =>
    client.callBuffer('evalsha', [sha1, ...rest]).catch((error: unknown) => {
      if (!/^NOSCRIPT/.test(textOf(error))) throw error;
      return client.callBuffer('eval', [source, ...rest]);
    }),
  );
}

/**
 * Retries a task while a Cluster moves its slot, for at most 30 seconds. During a move the keys may be split between nodes, and the
 * server rejects the command without effects. Clients give up earlier, and wrap the server's error in their own.
 */
export function whileSlotMoves<T>(task: () => Promise<T>): Promise<T> {
  return repeated(task, (error) => MOVING.test(textOf(error)));
}

/** Runs a task, and repeats it after errors that may pass. */
async function repeated<T>(task: () => Promise<T>, mayPass: (error: unknown) => boolean): Promise<T> {
  const deadline = performance.now() + PATIENCE_MS;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    try {
      return await task();
    } catch (error) {
      if (!mayPass(error) || performance.now() > deadline) throw error;
    }
    await sleep(pause);
  }
}

function textOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
