import { randomUUID } from 'node:crypto';
import { EventBuffer, type Reset, type Stamped } from './event-buffer.js';
import { foldEvent } from './fold-event.js';
import type { PageEvent, PageEventBody } from './page-event.js';
import { emptyTranscript, type Transcript } from './transcript.js';

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
  subscribe(afterEventId: string | undefined, listener: (event: StampedEvent) => void): () => void {
    return this.#buffer.subscribe(afterEventId, listener);
  }
}
