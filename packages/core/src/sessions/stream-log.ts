import { SessionStoreError } from '../errors/session-errors.js';
import { letEnd, systemClock } from '../lib/clock.js';
import type { JsonValue } from '../lib/json.js';
import { ItemLog } from './item-log.js';
import type { SessionKey } from './session-key.js';
import type { SessionStore } from './session-store.js';

/** The pace of a log of a stream. */
export interface StreamLogOptions {
  /** Milliseconds between two looks of a reader for more. Default 100. */
  readonly pollMs?: number | undefined;
  /** Milliseconds without a sign of the writer after which it counts as dead. Default 60 000. */
  readonly stallMs?: number | undefined;
}

/** An entry of the log, in the order of writing. */
type Entry = { readonly chunks: readonly JsonValue[] } | { readonly end: true };

const NAME = 'x-stream';

/**
 * A stream that is kept in a session store while it comes, so that a reader who lost it, or another process, reads on from
 * a cursor: an agent's events, or what a page is sent. The next stream that is recorded takes the place of the last.
 *
 * @example
 * ```ts
 * const log = new StreamLog(store, SessionKey.of('s-001'));
 * for await (const event of await log.record(agent.stream('Hi'))) console.log(event.type);
 * for await (const event of (await log.resume(20)) ?? []) console.log(event);
 * ```
 */
export class StreamLog {
  readonly #store: SessionStore;
  readonly #key: SessionKey;
  readonly #pollMs: number;
  readonly #stallMs: number;

  /** @param key The log's own: no agent's. */
  constructor(
    store: SessionStore,
    key: SessionKey,
    { pollMs = 100, stallMs = 60_000 }: StreamLogOptions = {},
  ) {
    this.#store = store;
    this.#key = key;
    this.#pollMs = pollMs;
    this.#stallMs = stallMs;
  }

  /**
   * Passes a stream on and keeps it. The source is read to its end whether or not somebody still reads the result: who
   * leaves comes back by {@link StreamLog.resume}. A store that fails ends the keeping, not the stream.
   *
   * @throws {SessionStoreError} when the store cannot begin the record.
   */
  async record<Item>(source: AsyncIterable<Item>): Promise<AsyncGenerator<Item, void>> {
    const log = new ItemLog(this.#store, this.#key, NAME);
    const id = crypto.randomUUID();
    await log.change(({ messages }) => ({ keep: 0, append: [], state: { id, begun: messages.length } }));
    const writer = new Writer(log, id, this.#stallMs / 3);
    const queue: Item[] = [];
    let wake = () => {};
    let isRead = true;
    let end: { readonly error?: unknown } | undefined;
    const pump = async () => {
      let failure = {};
      try {
        for await (const item of source) {
          writer.add(JSON.parse(JSON.stringify(item, plainErrors)) as JsonValue);
          if (isRead) queue.push(item);
          wake();
        }
      } catch (error) {
        failure = { error };
      }
      // First: whoever has read the end must not find a stream that is still being written.
      await writer.end();
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
   * Reads the stream that is being recorded now.
   *
   * @param cursor The number of items that the reader has already.
   * @returns `undefined` when nothing is being recorded.
   * @throws {SessionStoreError} `stream_stalled`, while reading, when the writer gives no sign of life.
   */
  async resume<Item>(cursor = 0): Promise<AsyncGenerator<Item, void> | undefined> {
    const first = await this.#read();
    return first === undefined || first.ended ? undefined : this.#follow<Item>(first, cursor);
  }

  async *#follow<Item>(first: Recorded, cursor: number): AsyncGenerator<Item, void> {
    let at = first;
    let next = cursor;
    let entries = at.entries;
    for (let seenAt = Date.now(); ; ) {
      while (next < at.chunks.length) yield at.chunks[next++] as Item;
      if (at.ended) return;
      if (at.entries !== entries) seenAt = Date.now();
      entries = at.entries;
      if (Date.now() - seenAt > this.#stallMs) throw this.#stalled();
      await systemClock.sleep(this.#pollMs);
      const now = await this.#read();
      // Another stream took its place: this one is at its end.
      at = now === undefined || now.id !== first.id ? { ...at, ended: true } : now;
    }
  }

  #stalled(): SessionStoreError {
    return new SessionStoreError(
      'stream_stalled',
      `The stream broke off: whoever wrote it has given no sign of life for ${this.#stallMs} ms. Read the session itself.`,
      { sessionKey: this.#key.toString() },
    );
  }

  async #read(): Promise<Recorded | undefined> {
    const log = new ItemLog(this.#store, this.#key, NAME);
    const { messages, state } = await log.read();
    if (typeof state.id !== 'string') return undefined;
    const entries = messages.map((message) => log.item(message) as unknown as Entry);
    return {
      id: state.id,
      entries: entries.length,
      chunks: entries.flatMap((entry) => ('chunks' in entry ? entry.chunks : [])),
      ended: entries.some((entry) => 'end' in entry),
    };
  }
}

interface Recorded {
  readonly id: string;
  readonly entries: number;
  readonly chunks: readonly JsonValue[];
  readonly ended: boolean;
}

/** JSON leaves nothing of an error; its name, code and message are what a reader needs. */
function plainErrors(_: string, value: unknown): unknown {
  if (!(value instanceof Error)) return value;
  const { name, message } = value;
  return { name, message, ...('code' in value ? { code: value.code } : {}) };
}

/** Writes what came while the last commit was under way in one go. */
class Writer {
  readonly #log: ItemLog;
  readonly #id: string;
  readonly #alive: ReturnType<typeof setInterval>;
  #waiting: JsonValue[] = [];
  #writing: Promise<void> = Promise.resolve();
  #isQueued = false;
  /** The store failed, or another stream took this one's place: what comes is not kept any more. */
  #isOver = false;

  constructor(log: ItemLog, id: string, aliveMs: number) {
    this.#log = log;
    this.#id = id;
    // A sign of life while a tool runs and nothing is said.
    this.#alive = setInterval(() => this.#flush(), aliveMs);
    letEnd(this.#alive);
  }

  add(chunk: JsonValue): void {
    this.#waiting.push(chunk);
    if (!this.#isQueued) this.#flush();
  }

  async end(): Promise<void> {
    clearInterval(this.#alive);
    await this.#writing;
    await this.#write({ chunks: this.#waiting.splice(0) }, { end: true });
  }

  #flush(): void {
    this.#isQueued = true;
    this.#writing = this.#writing.then(() => {
      this.#isQueued = false;
      return this.#write({ chunks: this.#waiting.splice(0) });
    });
  }

  async #write(...entries: readonly Entry[]): Promise<void> {
    if (this.#isOver) return;
    try {
      await this.#log.append((loaded) => {
        // The next answer of the chat has begun, perhaps in another process.
        if (loaded !== undefined && loaded.state.id !== this.#id) this.#isOver = true;
        return this.#isOver ? [] : entries.map((entry) => this.#log.message(entry as unknown as JsonValue));
      });
    } catch {
      this.#isOver = true;
    }
  }
}
