import { randomUUID } from 'node:crypto';
import { foldEvent } from './fold-event.js';
import { emptyTranscript, type PageEvent, type PageEventBody, type Transcript } from './transcript.js';

export type StampedEvent = Stamped<PageEvent | Reset>;

/** A transcript, and the event that it includes last: what comes after that one brings it up to date. */
export interface SessionSnapshot {
  readonly transcript: Transcript;
  readonly lastEventId: string;
}

const epoch = randomUUID();

/**
 * One session as backends keep it for the page: what is published goes to everybody who listens, and into the transcript
 * by the very function that the page uses, so that a page that follows and one that reloads show the same.
 */
export class SessionFeed {
  readonly sessionId: string;
  readonly #buffer: EventBuffer<PageEvent>;
  #transcript: Transcript;

  /** Begins empty, or with what an earlier process left. */
  constructor(sessionId: string, transcript: Transcript = emptyTranscript(sessionId)) {
    this.sessionId = sessionId;
    this.#transcript = transcript;
    this.#buffer = new EventBuffer(epoch);
  }

  get transcript(): Transcript {
    return this.#transcript;
  }

  get snapshot(): SessionSnapshot {
    return { transcript: this.#transcript, lastEventId: this.#buffer.lastId };
  }

  /** Publishes an event; `at` is now unless the event says otherwise. */
  publish(body: PageEventBody & { readonly at?: string }): void {
    const event = {
      ...body,
      sessionId: this.sessionId,
      at: body.at ?? new Date().toISOString(),
    } as PageEvent;
    this.#transcript = foldEvent(this.#transcript, event);
    this.#buffer.publish(event);
  }

  /** Begins anew with what another process made of the session: every page that listens loads it again. */
  replace(transcript: Transcript): void {
    this.#transcript = transcript;
    this.#buffer.reset();
  }

  /** See `Backend.subscribe`. */
  subscribe(afterEventId: string, listener: (event: StampedEvent) => void): () => void {
    return this.#buffer.subscribe(afterEventId, listener);
  }
}

/** An event with the id under which it can be resumed after. */
interface Stamped<Event> {
  readonly id: string;
  readonly event: Event;
}

/** Told in place of events that are no longer held. */
interface Reset {
  readonly type: 'reset';
}

type Listener<Event> = (stamped: Stamped<Event | Reset>) => void;

/**
 * The last events of a session, so that a page that was away for a moment misses none. Ids name the process they were
 * given in: an id of an earlier process is recognized as one that cannot be resumed after.
 */
export class EventBuffer<Event> {
  readonly #epoch: string;
  readonly #capacity: number;
  readonly #events: Stamped<Event>[] = [];
  readonly #listeners = new Set<Listener<Event>>();
  #count = 0;

  /** `epoch` must differ between processes. `capacity` is how many events are held, by default 4 096. */
  constructor(epoch: string, capacity = 4_096) {
    this.#epoch = epoch;
    this.#capacity = capacity;
  }

  /** The id of the last event, or one that stands before the first. */
  get lastId(): string {
    return `${this.#epoch}-${this.#count}`;
  }

  publish(event: Event): void {
    this.#count++;
    const stamped = { id: this.lastId, event };
    this.#events.push(stamped);
    // In batches: to shift at every event would move the whole array each time.
    if (this.#events.length >= this.#capacity * 2) this.#events.splice(0, this.#capacity);
    for (const listener of [...this.#listeners]) listener(stamped);
  }

  /** Forgets what was published: those who listen, and those who come back, are told to begin anew. */
  reset(): void {
    this.#count++;
    this.#events.length = 0;
    for (const listener of [...this.#listeners]) listener({ id: this.lastId, event: { type: 'reset' } });
  }

  /** Calls `listener` with what came after `afterId`, then with what comes. Returns a function that ends it. */
  subscribe(afterId: string, listener: Listener<Event>): () => void {
    const missed = this.#after(afterId);
    if (missed === undefined) listener({ id: this.lastId, event: { type: 'reset' } });
    else for (const stamped of missed) listener(stamped);
    this.#listeners.add(listener);
    return () => void this.#listeners.delete(listener);
  }

  /** Returns the events after an event, or `undefined` when they are not held any more. */
  #after(id: string): readonly Stamped<Event>[] | undefined {
    const separator = id.lastIndexOf('-');
    const position = Number(id.slice(separator + 1));
    if (id.slice(0, separator) !== this.#epoch || !Number.isInteger(position)) return undefined;
    const first = this.#count - this.#events.length;
    if (position < first || position > this.#count) return undefined;
    return this.#events.slice(position - first);
  }
}
