import type { AgentEvent } from '@x/core';
import { unlessAborted } from '@x/core/internal';
import { HarnessError } from '../errors/harness-error.js';

/** Events that stay for a reader who comes back, and that the first reader may be behind before the call waits. */
const KEPT = 1_024;

interface ReadOptions {
  readonly isFirst?: boolean;
  readonly signal?: AbortSignal | undefined;
}

type Outcome<Result> = { readonly result: Result } | { readonly cause: unknown };

/**
 * The events of one call, in order, for any number of readers. Where there is a first reader the call waits for it, once
 * that is {@link KEPT} events behind. Pushing and reading cost the same at any length.
 */
export class EventJournal<Result> {
  #events: AgentEvent[] = [];
  /** Events that are no longer in the list. */
  #dropped = 0;
  /** Events that the first reader has had. */
  #first: number | undefined;
  #outcome: Outcome<Result> | undefined;
  #waiting: (() => void)[] = [];
  #readers = 0;

  get hasReaders(): boolean {
    return this.#readers > 0;
  }

  /** Adds an event. What comes after the end, as of work in the background, is for no reader. */
  push(event: AgentEvent): void {
    if (this.#outcome !== undefined) return;
    this.#events.push(event);
    const excess = Math.min(this.#events.length - KEPT, (this.#first ?? this.#end) - this.#dropped);
    // Rarely, and many at once: taking one from the front costs as much as the list is long.
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

  /** Ends with what work comes to, and answers the work. */
  endWith(work: Promise<Result>): Promise<Result> {
    work.then(
      (result) => this.end({ result }),
      (cause: unknown) => this.end({ cause }),
    );
    return work;
  }

  /** Waits until the first reader has caught up, or `signal` fires; `undefined` when there is room. */
  room(signal: AbortSignal): Promise<void> | undefined {
    return this.#behind >= KEPT && !signal.aborted ? this.#waitForRoom(signal) : undefined;
  }

  /** Reads as the first reader, from the beginning: the call waits for it until it leaves. */
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
   * Reads on behind the event `after`, or from the oldest that is kept, to the end of the call.
   *
   * @throws {HarnessError} `events_gone` when events between are no longer kept, or there is no event `after` yet: it was another call's.
   * @throws the error that the call ended with.
   */
  async *read(after?: number): AsyncGenerator<AgentEvent, Result> {
    yield* this.events(after);
    return this.#result();
  }

  /**
   * Does what {@link EventJournal.read} does, without the result or the error that the call ends with.
   *
   * @param signal Ends the reading at once.
   */
  async *events(after?: number, signal?: AbortSignal): AsyncGenerator<AgentEvent, void> {
    const oldest = this.#events[0]?.seq ?? 1;
    const newest = this.#events.at(-1)?.seq ?? 0;
    if (after !== undefined && (after + 1 < oldest || after > newest)) throw eventsGone();
    const skipped = this.#events.findIndex(({ seq }) => seq > (after ?? 0));
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

  /** The result of a call that has ended. Throws the error that it ended with. */
  #result(): Result {
    if (this.#outcome === undefined) throw new Error('The call has not ended.');
    if ('cause' in this.#outcome) throw this.#outcome.cause;
    return this.#outcome.result;
  }

  get #end(): number {
    return this.#dropped + this.#events.length;
  }

  /** Events that the first reader has not had. */
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
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}

function eventsGone(): HarnessError {
  return new HarnessError(
    'events_gone',
    'Events between this cursor and the present are no longer kept. Read the session with state(), then follow without a cursor.',
  );
}
