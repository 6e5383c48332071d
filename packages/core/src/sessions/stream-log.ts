import {
  type ClientEvent,
  clientJson,
  errorFrom,
  fromClientEvent,
  isAgentEvent,
  toClientEvent,
} from '../agent/client-event.js';
import { type ClientError, toClientError, type WordError } from '../errors/client-error.js';
import { isOutage, SessionStoreError } from '../errors/session-errors.js';
import type { XError } from '../errors/x-error.js';
import { letEnd, steadyClock, systemClock } from '../lib/clock.js';
import type { JsonValue } from '../lib/json.js';
import { collectionOf } from './collections.js';
import { ItemLog } from './item-log.js';
import type { SessionKey } from './session-key.js';
import type { SessionStore } from './session-store.js';

/** Options of a stream log: its timing, and the wording of errors. */
export interface StreamLogOptions {
  /** Polling interval of a reader in milliseconds. Default 100. */
  readonly pollMs?: number | undefined;
  /**
   * Milliseconds without a heartbeat after which a reader treats the writer as dead. The writer beats three times in that time.
   * Default 60 000.
   *
   * Heartbeats carry the store's time: if the clocks differ by more than half of this value, a live writer may look dead.
   */
  readonly stallMs?: number | undefined;
  /** Returns the text of the errors for later readers of the stream. Default: see {@link toClientError}. */
  readonly onError?: WordError | undefined;
}

/** An entry of the log, in the order of writing. `at` is the number of items before it. */
interface Entry {
  readonly at: number;
  readonly chunks: readonly JsonValue[];
  /** Set if the source has ended, with or without an error. */
  readonly end?: { readonly error?: ClientError };
}

const NAME = 'x-stream';
const COLLECTION = 'streams';
const NOTHING = { at: 0, chunks: [] };
/** Milliseconds between two writes after a failed one, which collect more and more items. */
const RETRY_MS = 100;
/** Number of entries that the first read loads. Each further read loads four times as many, until the cursor is reached. */
const FIRST_READ = 16;

/**
 * Records a stream in the collection `streams` of a session store while it runs. A reader that lost the stream, or another process, resumes
 * it from a cursor. The items are an agent's events, or the items sent to a web page. A new stream replaces the last one.
 *
 * @example
 * ```ts
 * const log = new StreamLog(store, SessionKey.of('s-001'));
 * for await (const event of await log.record(agent.stream('Hi'))) console.log(event.type);
 * for await (const event of (await log.resume(20)) ?? []) console.log(event);
 * ```
 */
export class StreamLog {
  readonly #streams: SessionStore;
  readonly #key: SessionKey;
  readonly #pollMs: number;
  readonly #stallMs: number;
  readonly #onError: WordError | undefined;

  /**
   * @param key Identifies the stream, for example the key of the agent's session. For each key, only the newest stream is kept.
   * @throws {CapabilityError} for a store without collections.
   */
  constructor(
    store: SessionStore,
    key: SessionKey,
    { pollMs = 100, stallMs = 60_000, onError }: StreamLogOptions = {},
  ) {
    this.#streams = collectionOf(store, COLLECTION);
    this.#key = key;
    this.#pollMs = pollMs;
    this.#stallMs = stallMs;
    this.#onError = onError;
  }

  /**
   * Records a stream and passes it on. The source is read to its end even if nobody reads the result. A disconnected reader resumes with
   * {@link StreamLog.resume}. If the store fails, the stream continues, and is recorded again once the store
   * responds. Agents' events are recorded as converted by {@link toClientEvent}.
   *
   * @throws {SessionStoreError} when the store cannot start the record.
   */
  async record<Item>(source: AsyncIterable<Item>): Promise<AsyncGenerator<Item, void>> {
    // Items that a failed commit could not write wait for the next one, so a commit is sent again only once.
    const log = new ItemLog(this.#streams, this.#key, NAME, 0);
    const id = crypto.randomUUID();
    await log.change(() => ({ keep: 0, append: [], state: { id } }));
    const writer = new Writer(log, id, this.#stallMs);
    const queue: Item[] = [];
    let wake = () => {};
    let isRead = true;
    let end: { readonly error?: unknown } | undefined;
    const pump = async () => {
      let failure: { readonly error?: unknown } = {};
      try {
        for await (const item of source) {
          const told = isAgentEvent(item) ? toClientEvent(item, this.#onError) : item;
          writer.add(JSON.parse(clientJson(told, this.#onError)) as JsonValue);
          if (isRead) queue.push(item);
          wake();
        }
      } catch (error) {
        failure = { error };
      }
      // Write the end first, so that a reader that has read the end does not find a stream in progress.
      await writer.end('error' in failure ? { error: toClientError(failure.error, this.#onError) } : {});
      end = failure;
      wake();
    };
    void pump();
    async function* read(): AsyncGenerator<Item, void> {
      try {
        for (;;) {
          yield* queue.splice(0);
          if (queue.length > 0) continue;
          if (end !== undefined) break;
          await new Promise<void>((resolve) => {
            wake = resolve;
          });
        }
      } finally {
        isRead = false;
      }
      if ('error' in end) throw end.error;
    }
    return read();
  }

  /**
   * Reads the stream that is currently being recorded.
   *
   * @param cursor The number of items that the reader already has.
   * @returns `undefined` when nothing is being recorded.
   * @throws {SessionStoreError} while reading: `stream_stalled` when the writer sends no heartbeat, or the store does not answer for that
   * long; `stream_failed` when the source failed. The `cause` has the code and message of the source's error.
   */
  async resume<Item>(cursor = 0): Promise<AsyncGenerator<Item, void> | undefined> {
    const log = new ItemLog(this.#streams, this.#key, NAME);
    const first = await read(log, cursor);
    return first === undefined || first.end ? undefined : this.#follow<Item>(log, first, cursor);
  }

  async *#follow<Item>(log: ItemLog, first: Recorded, cursor: number): AsyncGenerator<Item, void> {
    let next = cursor;
    let { updatedAt } = first;
    // If the writer died long ago, do not wait for it.
    let seenAt = steadyClock.now() - Math.max(0, Date.now() - Date.parse(updatedAt));
    let now: Recorded | undefined = first;
    while (now?.id === first.id) {
      if (now.updatedAt !== updatedAt) seenAt = steadyClock.now();
      updatedAt = now.updatedAt;
      for (const chunk of now.chunksFrom(next)) {
        next += 1;
        yield (isAgentEvent(chunk) ? fromClientEvent(chunk as ClientEvent) : chunk) as Item;
      }
      if (now.end?.error !== undefined)
        throw this.#broken('stream_failed', 'its source failed', errorFrom(now.end.error));
      if (now.end) return;
      if (steadyClock.now() - seenAt > this.#stallMs) {
        throw this.#broken('stream_stalled', `its writer sent no heartbeat for ${this.#stallMs} ms`);
      }
      await systemClock.sleep(this.#pollMs);
      // During an outage of the store, nothing new is read.
      now = await read(log, next).catch((error) => (isOutage(error) ? now : Promise.reject(error)));
    }
    // Another stream replaced this one, so this one has ended.
  }

  #broken(code: 'stream_failed' | 'stream_stalled', why: string, cause?: XError): SessionStoreError {
    return new SessionStoreError(code, `The stream ended early: ${why}. Load the session instead.`, {
      sessionKey: this.#key.toString(),
      cause,
    });
  }
}

interface Recorded {
  readonly id: string;
  /** ISO 8601: time of the last write. */
  readonly updatedAt: string;
  readonly end: Entry['end'];
  chunksFrom(cursor: number): readonly JsonValue[];
}

/** Reads a log from a cursor on, and as little as possible before it. */
async function read(log: ItemLog, cursor: number): Promise<Recorded | undefined> {
  for (let last = FIRST_READ; ; last *= 4) {
    const { messages, state, updatedAt } = await log.read(cursor === 0 ? {} : { last });
    if (typeof state.id !== 'string' || updatedAt === undefined) return undefined;
    const entries = messages.map((message) => log.item(message) as unknown as Entry);
    const at = entries[0]?.at ?? 0;
    if (at > cursor && messages.length === last) continue;
    const chunks = entries.flatMap((entry) => entry.chunks);
    const chunksFrom = (cursor: number) => chunks.slice(Math.max(0, cursor - at));
    return { id: state.id, updatedAt, end: entries.at(-1)?.end, chunksFrom };
  }
}

/** Batches the items that arrive during a commit into the next commit. */
class Writer {
  readonly #log: ItemLog;
  readonly #id: string;
  readonly #stallMs: number;
  readonly #alive: ReturnType<typeof setInterval>;
  #waiting: JsonValue[] = [];
  #written = 0;
  #writing: Promise<void> = Promise.resolve();
  #isQueued = false;
  /** Set if the end is recorded, the store rejected an item, or another stream replaced this one. Then nothing more is recorded. */
  #isOver = false;

  constructor(log: ItemLog, id: string, stallMs: number) {
    this.#log = log;
    this.#id = id;
    this.#stallMs = stallMs;
    // Heartbeat while a tool runs and no items arrive.
    this.#alive = setInterval(() => this.#flush(), stallMs / 3);
    letEnd(this.#alive);
  }

  add(chunk: JsonValue): void {
    if (this.#isOver) return;
    this.#waiting.push(chunk);
    if (!this.#isQueued) this.#flush();
  }

  async end(end: Entry['end']): Promise<void> {
    clearInterval(this.#alive);
    await this.#writing;
    await this.#write(end);
    void this.#finish(end);
  }

  /** Repeats the last write in the background, in case the store was unavailable, until readers give up. */
  async #finish(end: Entry['end']): Promise<void> {
    const since = steadyClock.now();
    while (!this.#isOver && steadyClock.now() - since < this.#stallMs) {
      await systemClock.sleep(RETRY_MS, { background: true });
      await this.#write(end);
    }
  }

  #flush(): void {
    this.#isQueued = true;
    this.#writing = this.#writing.then(() => {
      this.#isQueued = false;
      return this.#write();
    });
  }

  async #write(end?: Entry['end']): Promise<void> {
    const count = this.#waiting.length;
    try {
      await this.#log.append((loaded) => {
        // The next answer of the chat has started, perhaps in another process.
        if (loaded !== undefined && loaded.state.id !== this.#id) this.#isOver = true;
        if (this.#isOver) return [];
        // After a failed write, its items may be in the log.
        const last = loaded?.messages.at(-1);
        const { at, chunks } = (last ? this.#log.item(last) : NOTHING) as unknown as Entry;
        const known = Math.max(0, at + chunks.length - this.#written);
        const entry = { at: this.#written + known, chunks: this.#waiting.slice(known, count) };
        return [this.#log.message({ ...entry, ...(end && { end }) } as unknown as JsonValue)];
      });
      this.#waiting.splice(0, count);
      this.#written += count;
      this.#isOver ||= end !== undefined;
    } catch (error) {
      // The store may be unavailable or full only temporarily. The next write contains these items, too.
      const isTried = SessionStoreError.isInstance(error) && error.code === 'session_unavailable';
      this.#isOver ||= !isTried;
      if (isTried && !end) await systemClock.sleep(RETRY_MS);
    }
  }
}
