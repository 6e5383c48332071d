import type { AgentEvent } from '@x/core';
import { unlessAborted } from '@x/core/internal';
import { HarnessError } from '../errors/harness-error.js';

/**
 * Number of events that are kept for a reader that reconnects. Also the number that the first reader may lag behind
 * before the call waits.
 */
const KEPT = 1_024;

interface ReadOptions {
  readonly isFirst?: boolean;
  readonly signal?: AbortSignal | undefined;
}

type Outcome<Result> = { readonly result: Result } | { readonly cause: unknown };

/** What identifies an event in a session. */
export type EventPlace = Pick<AgentEvent, 'callId' | 'seq'>;

/**
 * The events of one call, in order, for any number of readers. If there is a first reader, the call waits for it once
 * it lags {@link KEPT} events behind. The cost of pushing and reading does not depend on the length.
 */
export class EventJournal<Result> {
  #events: AgentEvent[] = [];
  /** Number of events that were removed from the list. */
  #dropped = 0;
  /** Number of events that the first reader has received. `undefined` without a first reader. */
  #first: number | undefined;
  #outcome: Outcome<Result> | undefined;
  #waiting: (() => void)[] = [];
  #readers = 0;
  /** Receives events after the end, such as those of background work. */
  onLate: (event: AgentEvent) => void = () => {};

  get hasReaders(): boolean {
    return this.#readers > 0;
  }

  /** Adds an event. After the end, passes it to {@link EventJournal.onLate}. */
  push(event: AgentEvent): void {
    if (this.#outcome !== undefined) {
      this.onLate(event);
      return;
    }
    this.#events.push(event);
    const excess = Math.min(this.#events.length - KEPT, (this.#first ?? this.#end) - this.#dropped);
    // Remove many at once, because removing from the front takes time proportional to the length of the list.
    if (excess >= KEPT) {
      this.#events = this.#events.slice(excess);
      this.#dropped += excess;
    }
    this.#wake();
  }

  end(outcome: Outcome<Result>): void {
    this.#outcome = outcome;
    this.#wake();
  }

  /** Ends the journal with the outcome of `work`, and returns `work`. */
  endWith(work: Promise<Result>): Promise<Result> {
    work.then(
      (result) => this.end({ result }),
      (cause: unknown) => this.end({ cause }),
    );
    return work;
  }

  /** Waits until the first reader has caught up or `signal` aborts. Returns `undefined` if there is no need to wait. */
  room(signal: AbortSignal): Promise<void> | undefined {
    return this.#behind >= KEPT && !signal.aborted ? this.#waitForRoom(signal) : undefined;
  }

  /** Reads from the beginning as the first reader. The call waits for this reader until it stops. */
  async *readFirst(): AsyncGenerator<AgentEvent, Result> {
    this.#first = 0;
    try {
      yield* this.#read(0, { isFirst: true });
    } finally {
      this.#first = undefined;
      this.#wake();
    }
    return this.#result();
  }

  /**
   * Reads the events after the event `after`, or from the oldest that is kept, to the end of the call.
   *
   * @throws {HarnessError} `events_gone` if events in between are no longer kept, or if `after` is no event of this call.
   * @throws the error of the call, if it failed.
   */
  async *read(after?: EventPlace): AsyncGenerator<AgentEvent, Result> {
    yield* this.events(after);
    return this.#result();
  }

  /**
   * Reads like {@link EventJournal.read}, but without the result or the error of the call.
   *
   * @param signal Stops reading immediately.
   */
  async *events(after?: EventPlace, signal?: AbortSignal): AsyncGenerator<AgentEvent, void> {
    const [oldest, newest] = [this.#events[0], this.#events.at(-1)];
    const isOwn = after?.callId === oldest?.callId && (after?.seq ?? 0) <= (newest?.seq ?? 0);
    if (after !== undefined && !(isOwn && after.seq + 1 >= (oldest?.seq ?? 1))) throw eventsGone();
    const skipped = this.#events.findIndex(({ seq }) => seq > (after?.seq ?? 0));
    yield* this.#read(skipped < 0 ? this.#end : this.#dropped + skipped, { signal });
  }

  async *#read(from: number, { isFirst = false, signal }: ReadOptions): AsyncGenerator<AgentEvent, void> {
    this.#readers++;
    const wake = () => this.#wake();
    signal?.addEventListener('abort', wake);
    try {
      for (let next = from; ; ) {
        while (next < this.#end) {
          const event = this.#events[next - this.#dropped];
          if (event === undefined) throw eventsGone();
          next++;
          if (isFirst && this.#first !== undefined) {
            this.#first = next;
            if (this.#behind < KEPT) this.#wake();
          }
          yield event;
        }
        if (this.#outcome !== undefined || signal?.aborted) break;
        await this.#change();
      }
    } finally {
      this.#readers--;
      signal?.removeEventListener('abort', wake);
    }
  }

  /** Returns the result of an ended call, or throws its error. */
  #result(): Result {
    if (this.#outcome === undefined) throw new Error('The call has not ended.');
    if ('cause' in this.#outcome) throw this.#outcome.cause;
    return this.#outcome.result;
  }

  get #end(): number {
    return this.#dropped + this.#events.length;
  }

  /** Number of events that the first reader has not received. */
  get #behind(): number {
    return this.#first === undefined ? 0 : this.#end - this.#first;
  }

  async #waitForRoom(signal: AbortSignal): Promise<void> {
    while (this.#behind >= KEPT && !signal.aborted) {
      await unlessAborted(this.#change(), signal).catch(() => {});
    }
  }

  #change(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  #wake(): void {
    if (this.#waiting.length > 0) for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function eventsGone(): HarnessError {
  return new HarnessError(
    'events_gone',
    'Events between this cursor and the present are no longer kept. Read the session with state(), then follow without a cursor.',
  );
}
