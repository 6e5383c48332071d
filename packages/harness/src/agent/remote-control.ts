import { setTimeout as sleep } from 'node:timers/promises';
import {
  AgentState,
  assistantMessage,
  type JsonObject,
  type Message,
  messageSchema,
  operationId,
  SessionConflictError,
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
 * Orders to a session's running call from other processes. An order is a session of its own beside that of the call, in the
 * same store; the running call looks for it every `pollMs`, and deletes it when it is carried out. There is one at a time.
 * Needs a store that processes share and that has leases, which tell whether a call runs.
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
    if (this.#pollMs === 0) return false;
    const place = placeOf(key);
    let given: string | undefined;
    while (await this.#isRunning(key)) {
      given ??= await this.#give(place, order);
      await sleep(this.#pollMs);
      if (given && (await this.#store.load(place))?.token !== given) return true;
    }
    return given !== undefined && !(await this.#store.delete(place));
  }

  /**
   * Looks for orders until the returned function is called.
   *
   * @param carryOut Resolves with whether the order was carried out: it is given back else.
   */
  watch(key: SessionKey, carryOut: (order: RemoteOrder) => Promise<boolean>): () => void {
    if (this.#pollMs === 0) return () => {};
    const place = placeOf(key);
    const taken = new Set<string>();
    const look = async () => {
      const stored = await this.#store.load(place);
      if (stored === undefined || taken.has(stored.token)) return;
      taken.add(stored.token);
      if (await carryOut(orderIn(stored.messages))) await this.#store.delete(place);
    };
    // A store that fails says so to the call itself; the next look makes up for this one.
    const timer = setInterval(() => void look().catch(() => {}), this.#pollMs);
    timer.unref();
    return () => clearInterval(timer);
  }

  /** Stores an order, and answers its token; `undefined` while another order is there. */
  async #give(place: SessionKey, order: RemoteOrder): Promise<string | undefined> {
    const operation = operationId();
    const data = JSON.parse(JSON.stringify(order)) as JsonObject;
    const append = [assistantMessage([{ type: 'opaque', provider: NAME, data }])];
    // The head of an agent's state, so that whatever lists or inspects sessions can read this one, too.
    const { sessionId, userId, tenantId } = place.parts;
    const head = AgentState.create({ sessionId, userId, tenantId }).head();
    try {
      await this.#store.commit(place, { operation, expected: undefined, head, keep: 0, append });
      return operation;
    } catch (error) {
      if (SessionConflictError.isInstance(error)) return undefined;
      throw error;
    }
  }

  async #isRunning(key: SessionKey): Promise<boolean> {
    const lease = await this.#store.lease?.(key, { ttlMs: PROBE_MS });
    await lease?.release();
    return lease === undefined;
  }
}

function orderIn(messages: readonly Message[]): RemoteOrder {
  const [block] = messages[0]?.content ?? [];
  return orderSchema.parse(block?.type === 'opaque' ? block.data : undefined) as RemoteOrder;
}

function placeOf({ parts }: SessionKey): SessionKey {
  return SessionKey.of({ ...parts, agentId: `${parts.agentId}/${NAME}` });
}
