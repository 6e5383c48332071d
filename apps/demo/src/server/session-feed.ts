import { randomUUID } from 'node:crypto';
import { foldEvent } from './fold-event.js';
import { emptyTranscript, type PageEvent, type PageEventBody, type Transcript } from './transcript.js';

/** An event with the id under which it can be resumed after; `reset` stands for events that are no longer held. */
export interface StampedEvent {
  readonly id: string;
  readonly event: PageEvent | { readonly type: 'reset' };
}

/** A transcript, and the event that it includes last: what comes after that one brings it up to date. */
export interface SessionSnapshot {
  readonly transcript: Transcript;
  readonly lastEventId: string;
}

interface FeedOptions {
  /** What an earlier process left. Default: nothing. */
  readonly transcript?: Transcript;
  /** How many events are held. Default 4 096. */
  readonly capacity?: number;
}

type Listener = (stamped: StampedEvent) => void;

/** Stands in ids of events: one that an earlier process gave is recognized, and cannot be resumed after. */
const epoch = randomUUID();

/**
 * One session as backends keep it for the page: what is published goes to everybody who listens, and into the transcript
 * by the very function that the page uses, so that a page that follows and one that reloads show the same. The last events
 * are held, so that a page that was away for a moment misses none.
 */
export class SessionFeed {
  readonly sessionId: string;
  readonly #capacity: number;
  readonly #events: StampedEvent[] = [];
  readonly #listeners = new Set<Listener>();
  #transcript: Transcript;
  #count = 0;

  constructor(
    sessionId: string,
    { transcript = emptyTranscript(sessionId), capacity = 4_096 }: FeedOptions = {},
  ) {
    this.sessionId = sessionId;
    this.#transcript = transcript;
    this.#capacity = capacity;
  }

  get transcript(): Transcript {
    return this.#transcript;
  }

  get snapshot(): SessionSnapshot {
    return { transcript: this.#transcript, lastEventId: this.#lastId };
  }

  /** The id of the last event, or one that stands before the first. */
  get #lastId(): string {
    return `${epoch}-${this.#count}`;
  }

  /** Publishes an event; `at` is now unless the event says otherwise. */
  publish(body: PageEventBody & { readonly at?: string }): void {
    const event = {
      ...body,
      sessionId: this.sessionId,
      at: body.at ?? new Date().toISOString(),
    } as PageEvent;
    this.#transcript = foldEvent(this.#transcript, event);
    this.#events.push(this.#tell(event));
    // In batches: to shift at every event would move the whole array each time.
    if (this.#events.length >= this.#capacity * 2) this.#events.splice(0, this.#capacity);
  }

  /** Begins anew with what another process made of the session: every page loads it again, also one that comes back. */
  replace(transcript: Transcript): void {
    this.#transcript = transcript;
    this.#events.length = 0;
    this.#tell({ type: 'reset' });
  }

  /** See `Backend.subscribe`. */
  subscribe(afterId: string, listener: Listener): () => void {
    const missed = this.#after(afterId) ?? [{ id: this.#lastId, event: { type: 'reset' } as const }];
    for (const stamped of missed) listener(stamped);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  #tell(event: StampedEvent['event']): StampedEvent {
    this.#count++;
    const stamped = { id: this.#lastId, event };
    for (const listener of [...this.#listeners]) listener(stamped);
    return stamped;
  }

  /** Returns the events after an event, or `undefined` when they are not held any more. */
  #after(id: string): readonly StampedEvent[] | undefined {
    const separator = id.lastIndexOf('-');
    const position = Number(id.slice(separator + 1));
    if (id.slice(0, separator) !== epoch || !Number.isInteger(position)) return undefined;
    const first = this.#count - this.#events.length;
    if (position < first || position > this.#count) return undefined;
    return this.#events.slice(position - first);
  }
}
