import { setTimeout as sleep } from 'node:timers/promises';
import {
  AgentState,
  assistantMessage,
  type JsonObject,
  type Message,
  messageSchema,
  SessionConflictError,
  SessionKey,
  type SessionStore,
} from '@x/core';
import { errorText, isUnreadable, unlessBusy } from '@x/core/internal';
import { operationId } from '@x/core/store';
import * as z from 'zod';

const NAME = 'x-control';
const COLLECTION = 'orders';
/** Looks for which a sender may leave the word that its order is carried out; it has died else, and others wait. */
const PATIENCE = 20;

const orderSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('interrupt') }),
  z.object({ type: z.literal('steer'), messages: z.array(messageSchema).readonly() }),
  /** Stands in the place of an order, by its token, that was carried out. */
  z.object({ type: z.literal('done'), order: z.string() }),
]);

type Stored = z.output<typeof orderSchema>;
/** What a process asks of a call that runs in another. */
export type RemoteOrder = Exclude<Stored, { readonly type: 'done' }>;

const TYPES = ['interrupt', 'steer'] as const;

/**
 * Orders to a session's running call from other processes. An order is a record in the collection `orders` of the session store;
 * the running call looks for it every `pollMs`, and says when it is carried out. There is one of each type at a
 * time: a message that waits for the next step does not delay an interrupt, and an interrupt does not replace it. An order is for the
 * call that runs when it is given: the next call ignores and removes what it finds at its beginning. If processes do not share the
 * store, or it has no collections or no `isLeased`, `send` resolves with false and `watch` does nothing. An order that cannot be
 * read, as of another release, costs a warning and is removed: it keeps no call from running.
 */
export class RemoteControl {
  readonly #store: SessionStore;
  readonly #pollMs: number;
  /** Records of which a warning has told. */
  readonly #told = new Set<string>();

  constructor(store: SessionStore, pollMs: number) {
    this.#store = store;
    const isShared = store.reach !== 'process' && store.isLeased && store.collection;
    this.#pollMs = isShared ? pollMs : 0;
  }

  /** Gives an order. Resolves with true once the call has carried it out, with false when none runs or it ended first. */
  async send(key: SessionKey, order: RemoteOrder): Promise<boolean> {
    const orders = this.#ordersOf(this.#store);
    if (orders === undefined) return false;
    const place = placeOf(key, order.type);
    for (let given: string | undefined; ; await sleep(this.#pollMs)) {
      const isRunning = await this.#store.isLeased?.(key);
      if (given === undefined && !isRunning) return false;
      const found = await this.#find(orders, place);
      // What cannot be read would be in the way for as long as the call runs.
      if (found && found.order === undefined) await this.#remove(orders, place, found.token);
      const there = found?.order;
      if (given === undefined) {
        if (!there) given = await this.#put(orders, place, order);
        continue;
      }
      const isDone = there?.type === 'done' && there.order === given;
      const isWaiting = found?.token === given;
      if (there && (isDone || (isWaiting && !isRunning))) await this.#remove(orders, place, found?.token);
      if (!isWaiting || !isRunning) return isDone;
    }
  }

  /**
   * Looks for orders until the returned function is called, which waits for those that are being carried out.
   *
   * @param carryOut Resolves with whether the order was carried out.
   * @param store The same store, as the call is bounded to it.
   */
  async watch(
    key: SessionKey,
    carryOut: (order: RemoteOrder) => Promise<boolean>,
    store = this.#store,
  ): Promise<() => Promise<void>> {
    const orders = this.#ordersOf(store);
    if (orders === undefined) return async () => {};
    const places = TYPES.map((type) => ({ place: placeOf(key, type), last: '', looks: 0, given: '' }));
    for (const at of places) {
      const stored = await this.#find(orders, at.place);
      if (stored === undefined) continue;
      // An order for an earlier call, which ended first; its sender may have died. One that stays is not carried out.
      at.last = stored.token ?? '';
      await this.#remove(orders, at.place, stored.token).catch(() => {});
    }
    const work = new Set<Promise<void>>();
    const during = (task: Promise<void>) => {
      // A store that fails says so to the call itself; the next look makes up for this one.
      const done = task.catch(() => {}).finally(() => work.delete(done));
      work.add(done);
      return done;
    };
    const settle = async (place: SessionKey, order: RemoteOrder, token: string) => {
      if (await carryOut(order)) await this.#put(orders, place, { type: 'done', order: token }, token);
    };
    const look = async (at: (typeof places)[number]) => {
      const found = await this.#find(orders, at.place);
      const { token, order } = found ?? {};
      at.looks = token === at.last ? at.looks + 1 : 0;
      at.last = token ?? '';
      if (token !== undefined && order && order.type !== 'done' && at.looks === 0) {
        at.given = token;
        void during(settle(at.place, order, token));
      } else if (found && (order === undefined || (at.looks > PATIENCE && at.given !== token)))
        await this.#remove(orders, at.place, token);
    };
    let timer: NodeJS.Timeout | undefined;
    let isOver = false;
    const wait = () => {
      if (isOver) return;
      const lookAll = () => void Promise.all(places.map((at) => during(look(at)))).then(wait);
      timer = setTimeout(lookAll, this.#pollMs).unref();
    };
    wait();
    return async () => {
      isOver = true;
      clearTimeout(timer);
      await Promise.all(work);
    };
  }

  #ordersOf(store: SessionStore): SessionStore | undefined {
    return this.#pollMs === 0 ? undefined : store.collection?.(COLLECTION);
  }

  /** Finds what there is in the place of an order: without `order` if it cannot be read, without `token` if nothing of it can. */
  async #find(
    orders: SessionStore,
    place: SessionKey,
  ): Promise<{ readonly token: string | undefined; readonly order?: Stored } | undefined> {
    let token: string | undefined;
    try {
      const stored = await orders.load(place);
      if (stored === undefined) return undefined;
      token = stored.token;
      return { token, order: orderIn(stored.messages) };
    } catch (error) {
      if (token === undefined && !isUnreadable(error)) throw error;
      const record = `${place} ${token}`;
      if (!this.#told.has(record))
        process.emitWarning(`The order ${place} cannot be read, and is ignored: ${errorText(error)}`);
      this.#told.add(record);
      return { token };
    }
  }

  /** Removes the order that has this token, or whatever there is, under its lease, so that nothing else takes its place meanwhile. */
  async #remove(orders: SessionStore, place: SessionKey, token: string | undefined): Promise<void> {
    await unlessBusy(orders, place, () => orders.delete(place, { token }));
  }

  /** Stores an order in place of the one with the token `expected`, and answers its token; `undefined` where another one is there. */
  async #put(
    orders: SessionStore,
    place: SessionKey,
    order: Stored,
    expected?: string,
  ): Promise<string | undefined> {
    const operation = operationId();
    const data = JSON.parse(JSON.stringify(order)) as JsonObject;
    const append = [assistantMessage([{ type: 'opaque', provider: NAME, data }])];
    // The head of an agent's state, so that whatever lists or inspects sessions can read this one, too.
    const { sessionId, userId, tenantId } = place.parts;
    const head = AgentState.create({ sessionId, userId, tenantId }).head();
    try {
      await orders.commit(place, { operation, expected, head, keep: 0, append });
      return operation;
    } catch (error) {
      if (SessionConflictError.isInstance(error)) return undefined;
      throw error;
    }
  }
}

function orderIn(messages: readonly Message[]): Stored {
  const [block] = messages[0]?.content ?? [];
  return orderSchema.parse(block?.type === 'opaque' ? block.data : undefined);
}

/** The key of a type of order: one level below its session, as those of subagents are, so that it is erased with it. */
function placeOf({ parts }: SessionKey, type: RemoteOrder['type']): SessionKey {
  const { agentId = '', sessionId } = parts;
  return SessionKey.of({ ...parts, agentId: `${agentId}/${type}`, sessionId: `${sessionId}/${type}` });
}
