import { setTimeout as sleep } from 'node:timers/promises';
import {
  ItemLog,
  type JsonObject,
  type Message,
  messageSchema,
  SessionKey,
  type SessionStore,
} from '@x/core';
import * as z from 'zod';

const NAME = 'x-control';
/** Milliseconds of a lease that only finds out whether another process has one. */
const PROBE_MS = 1_000;

const orderSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('interrupt') }),
  z.object({ type: z.literal('steer'), messages: z.array(messageSchema) }),
]);

/** What a process asks of a call that runs in another. */
export type RemoteOrder =
  | { readonly type: 'interrupt' }
  | { readonly type: 'steer'; readonly messages: readonly Message[] };

/**
 * Orders to a session's running call from other processes: a short list beside the session in its store, at which the
 * running call looks every `pollMs`. Needs a store that processes share and that has leases, which tell whether a call runs.
 */
export class RemoteControl {
  readonly #store: SessionStore;
  readonly #pollMs: number;

  constructor(store: SessionStore, pollMs: number) {
    this.#store = store;
    this.#pollMs = store.reach === 'process' || store.lease === undefined ? 0 : pollMs;
  }

  /** Gives an order. Resolves with true once the call has carried it out, with false when none runs or it ended first. */
  async send(key: SessionKey, order: RemoteOrder): Promise<boolean> {
    if (this.#pollMs === 0 || !(await this.#isRunning(key))) return false;
    const log = this.#logOf(key);
    const entry = log.message(JSON.parse(JSON.stringify(order)) as JsonObject);
    await log.append(() => [entry]);
    for (;;) {
      await sleep(this.#pollMs);
      if (!(await log.read()).messages.some(({ id }) => id === entry.id)) return true;
      if (await this.#isRunning(key)) continue;
      return !(await remove(log, entry.id));
    }
  }

  /**
   * Looks for orders until the returned function is called.
   *
   * @param carryOut Resolves with whether the order was carried out: it is given back else.
   */
  watch(key: SessionKey, carryOut: (order: RemoteOrder) => Promise<boolean>): () => void {
    if (this.#pollMs === 0) return () => {};
    const log = this.#logOf(key);
    const taken = new Set<string>();
    const look = async () => {
      if ((await this.#store.load(controlKey(key))) === undefined) return;
      for (const message of (await log.read()).messages) {
        if (taken.has(message.id)) continue;
        taken.add(message.id);
        const order = orderSchema.parse(log.item(message)) as RemoteOrder;
        void carryOut(order).then((isDone) => (isDone ? remove(log, message.id) : false), ignore);
      }
    };
    // A store that fails says so to the call itself; the next look makes up for this one.
    const timer = setInterval(() => void look().catch(ignore), this.#pollMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  async #isRunning(key: SessionKey): Promise<boolean> {
    const lease = await this.#store.lease?.(key, { ttlMs: PROBE_MS });
    await lease?.release();
    return lease === undefined;
  }

  #logOf(key: SessionKey): ItemLog {
    return new ItemLog(this.#store, controlKey(key), NAME);
  }
}

/** Takes an entry out. Answers whether it was there. */
async function remove(log: ItemLog, entryId: string): Promise<boolean> {
  const change = await log.change(({ messages }) => {
    const rest = messages.filter(({ id }) => id !== entryId);
    return rest.length === messages.length ? undefined : { keep: 0, append: rest };
  });
  return change !== undefined;
}

function controlKey({ parts }: SessionKey): SessionKey {
  return SessionKey.of({ ...parts, agentId: `${parts.agentId}/${NAME}` });
}

function ignore(): void {}
