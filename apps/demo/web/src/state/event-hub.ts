import type { PageEvent } from '../../../src/server/transcript.js';

export type SessionEvent = PageEvent | { readonly type: 'reset' };

/** An event of the followed session with its id, or whether the server is reached. */
export type HubMessage =
  | { readonly id: string; readonly event: SessionEvent }
  | { readonly connected: boolean };

interface Follower {
  readonly sessionId: string;
  /** The last event that it has had. */
  after: string;
  tell(message: HubMessage): void;
}

/** The server gives a sign of life every 15 s; after this long without one the connection is dead. */
const SILENCE_MS = 40_000;
const FIRST_DELAY_MS = 500;
const MAX_DELAY_MS = 3_000;

/**
 * One event stream for all who follow sessions, since a browser opens six connections to a server at most. It goes on
 * through lost connections, sleeping laptops and restarted servers, and misses nothing: what cannot be resumed is told as
 * `reset`.
 */
export class EventHub {
  readonly #followers = new Set<Follower>();
  #source: EventSource | undefined;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #delay = FIRST_DELAY_MS;

  /** Follows a session from an event on. Returns a function that ends it. */
  follow(sessionId: string, after: string, tell: (message: HubMessage) => void): () => void {
    const follower: Follower = { sessionId, after, tell };
    this.#followers.add(follower);
    this.#connect();
    return () => {
      if (this.#followers.delete(follower)) this.#connect();
    };
  }

  #connect(): void {
    this.#source?.close();
    clearTimeout(this.#timer);
    if (this.#followers.size === 0) return;
    const after: Record<string, string> = {};
    for (const { sessionId, after: id } of this.#followers) {
      // From the one furthest behind; the others leave out what they have had.
      const known = after[sessionId];
      if (known === undefined) after[sessionId] = id;
      // The server has begun anew between them: from an id that it does not know it tells all of them to load again.
      else if (epochOf(known) !== epochOf(id)) after[sessionId] = '';
      else if (countOf(id) < countOf(known)) after[sessionId] = id;
    }
    const source = new EventSource(`/api/events?after=${encodeURIComponent(JSON.stringify(after))}`);
    this.#source = source;
    source.onmessage = ({ data }: { readonly data: string }) => {
      this.#alive();
      this.#pass(JSON.parse(data) as { session: string; id: string; event: SessionEvent });
    };
    source.addEventListener('ping', () => {
      this.#delay = FIRST_DELAY_MS;
      this.#alive();
      this.#tell({ connected: true });
    });
    source.onerror = () => this.#again();
    this.#alive();
  }

  #pass({ session, id, event }: { session: string; id: string; event: SessionEvent }): void {
    for (const follower of this.#followers) {
      if (follower.sessionId !== session) continue;
      const isOld = epochOf(id) === epochOf(follower.after) && countOf(id) <= countOf(follower.after);
      if (event.type !== 'reset' && isOld) continue;
      follower.after = id;
      follower.tell({ id, event });
    }
  }

  #alive(): void {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#again(), SILENCE_MS);
  }

  #again(): void {
    this.#source?.close();
    this.#tell({ connected: false });
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#connect(), this.#delay);
    this.#delay = Math.min(this.#delay * 2, MAX_DELAY_MS);
  }

  #tell(message: HubMessage): void {
    for (const { tell } of this.#followers) tell(message);
  }
}

/** The number in an event's id: events of a session are counted. */
function countOf(id: string): number {
  return Number(id.slice(id.lastIndexOf('-') + 1));
}

/** What stands before the number: another one for each process of the server. */
function epochOf(id: string): string {
  return id.slice(0, id.lastIndexOf('-'));
}
