import { messageSchema, type SessionKey, type SessionStore } from '@x/core';
import { heartOf, type ProcessHeart } from '@x/core/internal';
import { operationId } from '@x/core/store';
import * as z from 'zod';

const orderSchema = z.discriminatedUnion('type', [
  z.object({ type: z.literal('interrupt') }),
  z.object({ type: z.literal('steer'), messages: z.array(messageSchema).readonly() }),
]);

/** A request to a call that runs in another process. */
export type RemoteOrder = z.output<typeof orderSchema>;

const noteSchema = z.discriminatedUnion('is', [
  /** An order to the lease holder, addressed by the token of its claim. */
  z.object({ is: z.literal('order'), from: z.string(), to: z.string(), order: orderSchema }),
  z.object({ is: z.literal('answer'), re: z.string(), isDone: z.boolean() }),
]);
type Note = z.output<typeof noteSchema>;

/** Milliseconds between a sender's checks of whether the call still runs. */
const LOOK_MS = 1_000;

/**
 * Sends orders to a session's running call in another process. An order is a note to the process that holds the session's lease. The note
 * and its answer arrive with heartbeats, within a second. Only the call that holds the lease receives the order. If the store has no
 * leases, `send` resolves with false, and `watch` does nothing.
 */
export class RemoteControl {
  readonly #store: SessionStore;

  constructor(store: SessionStore) {
    this.#store = store;
  }

  /** Sends an order. Resolves with true once the call has carried it out, with false if no call runs or it ended first. */
  async send(key: SessionKey, order: RemoteOrder): Promise<boolean> {
    const { leases } = this.#store;
    const holder = await leases?.find(key);
    if (leases === undefined || holder === undefined) return false;
    const heart = heartOf(leases.processes);
    const id = operationId();
    let answer: boolean | undefined;
    let wake = () => {};
    const stop = await heart.listen((note) => {
      const answered = noteOf(note.text);
      if (answered?.is !== 'answer' || answered.re !== id) return;
      answer = answered.isDone;
      wake();
    });
    try {
      if (!(await send(heart, holder.process, id, { is: 'order', from: heart.id, to: holder.token, order })))
        return false;
      while (answer === undefined) {
        await new Promise<void>((resolve) => {
          wake = resolve;
          setTimeout(resolve, LOOK_MS);
        });
        const current = await leases.find(key);
        if (answer !== undefined || (current?.token === holder.token && !(await heart.isGone(holder))))
          continue;
        // The call has ended. If it answered, it did so before it ended.
        await heart.look();
        return answer ?? false;
      }
      return answer;
    } finally {
      stop();
    }
  }

  /**
   * Carries out orders to a call until the returned function is called, which waits for orders in progress.
   *
   * @param token Identifies the claim under which the call runs.
   * @param carryOut Resolves with whether the order was carried out.
   */
  async watch(
    token: string | undefined,
    carryOut: (order: RemoteOrder) => Promise<boolean>,
  ): Promise<() => Promise<void>> {
    const { leases } = this.#store;
    if (leases === undefined || token === undefined) return async () => {};
    const heart = heartOf(leases.processes);
    const work = new Set<Promise<void>>();
    const stop = await heart.listen(({ id, text }, isLate) => {
      const note = noteOf(text);
      if (note?.is !== 'order' || note.to !== token) return;
      const settle = async (isDone: boolean) => {
        await send(heart, note.from, operationId(), { is: 'answer', re: id, isDone });
      };
      // If the sender cannot be reached, it notices that the call has ended. A late `steer` is dropped, because the sender may have given
      // up and sent the message in another way. A late interrupt does no harm.
      const isMoot = isLate && note.order.type === 'steer';
      const done = (isMoot ? Promise.resolve(false) : carryOut(note.order))
        .then(settle, () => settle(false))
        .catch(() => {});
      work.add(done);
      void done.then(() => work.delete(done));
    });
    return async () => {
      await Promise.all(work);
      stop();
    };
  }
}

function send(heart: ProcessHeart, process: string, id: string, note: Note): Promise<boolean> {
  // Stores accept one line of ASCII.
  const text = JSON.stringify(note).replace(
    /[^ -~]/g,
    (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`,
  );
  return heart.send(process, { id, text });
}

/** Parses a note. Returns `undefined` for a note of another release. */
function noteOf(text: string): Note | undefined {
  try {
    return noteSchema.safeParse(JSON.parse(text)).data;
  } catch {
    return undefined;
  }
}
