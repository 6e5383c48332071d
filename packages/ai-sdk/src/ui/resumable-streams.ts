import { randomUUID } from 'node:crypto';
import { setTimeout as sleep } from 'node:timers/promises';
import { ItemLog, type JsonValue, parseWith } from '@x/core';
import * as z from 'zod';
import { type ChatOptions, chatKey, chatShape } from './chat-key.js';

const AGENT = 'ai-sdk-streams';

export interface ResumableStreamsOptions extends ChatOptions {
  /** Milliseconds between two looks of a reader for more. Default 100. */
  readonly pollMs?: number | undefined;
  /** Milliseconds without a sign of the writer after which it counts as dead. Default 60 000. */
  readonly stallMs?: number | undefined;
}

const optionsSchema = z.strictObject({
  ...chatShape,
  pollMs: z.number().positive().default(100),
  stallMs: z.number().positive().default(60_000),
});

/** What the log of a chat's answer holds, in the order in which it was written. */
type Entry = { readonly chunks: readonly JsonValue[] } | { readonly end: true };

/**
 * Keeps the answer that a chat is streaming, so that a page that was reloaded, or another process, reads it from the
 * beginning or from a cursor. One answer a chat: the next one takes the place of the last.
 *
 * @example
 * ```ts
 * import { ResumableStreams, toUIMessageStream } from '@x/ai-sdk';
 * import { JsonSession } from '@x/core';
 * import type { HarnessAgent } from '@x/harness';
 * import { createUIMessageStreamResponse } from 'ai';
 *
 * const streams = new ResumableStreams({ store: new JsonSession({ directory: './chats' }) });
 *
 * export async function post(agent: HarnessAgent, chatId: string, question: string) {
 *   return createUIMessageStreamResponse({ stream: await streams.record(chatId, toUIMessageStream(agent.stream(question))) });
 * }
 * export async function get(chatId: string) {
 *   const stream = await streams.resume(chatId);
 *   return stream === undefined ? new Response(null, { status: 204 }) : createUIMessageStreamResponse({ stream });
 * }
 * ```
 */
export class ResumableStreams {
  readonly #options: z.output<typeof optionsSchema>;

  /** @throws {InvalidInputError} naming an option that is missing, unknown or wrong. */
  constructor(options: ResumableStreamsOptions) {
    this.#options = parseWith(optionsSchema, options, 'ResumableStreams options');
  }

  /**
   * Passes a stream on and keeps it. The source is read to its end whether or not somebody still reads the result: who
   * leaves comes back by {@link ResumableStreams.resume}. A store that fails ends the keeping, not the stream.
   */
  async record<Chunk>(chatId: string, source: ReadableStream<Chunk>): Promise<ReadableStream<Chunk>> {
    const log = this.#log(chatId);
    const id = randomUUID();
    await log.change(({ messages }) => ({ keep: 0, append: [], state: { id, begun: messages.length } }));
    const writer = new Writer(log, id, this.#options.stallMs / 3);
    let isRead = true;
    return new ReadableStream<Chunk>({
      start: async (controller) => {
        const pump = async () => {
          const reader = source.getReader();
          try {
            for (;;) {
              const { done, value } = await reader.read();
              if (done) break;
              writer.add(JSON.parse(JSON.stringify(value)) as JsonValue);
              if (isRead) controller.enqueue(value);
            }
            // First: whoever has read the end must not find an answer that is still being written.
            await writer.end();
            if (isRead) controller.close();
          } catch (error) {
            await writer.end();
            if (isRead) controller.error(error);
          }
        };
        void pump();
      },
      cancel: () => {
        isRead = false;
      },
    });
  }

  /**
   * Reads the answer that is being streamed now.
   *
   * @param cursor The number of chunks that the reader has already.
   * @returns `undefined` when nothing is being streamed: the chat's stored messages are all there is.
   */
  async resume<Chunk = never>(chatId: string, cursor = 0): Promise<ReadableStream<Chunk> | undefined> {
    const { pollMs, stallMs } = this.#options;
    const first = await this.#read(chatId);
    if (first === undefined || first.ended) return undefined;
    let next = cursor;
    let at = first;
    let seenAt = Date.now();
    let entries = -1;
    return new ReadableStream<Chunk>(
      {
        pull: async (controller) => {
          for (;;) {
            if (next < at.chunks.length) return controller.enqueue(at.chunks[next++] as Chunk);
            if (at.ended) return controller.close();
            if (at.entries !== entries) seenAt = Date.now();
            entries = at.entries;
            if (Date.now() - seenAt > stallMs) {
              const error = { type: 'error', errorText: 'The answer broke off.' };
              controller.enqueue(error as Chunk);
              return controller.close();
            }
            await sleep(pollMs);
            const now = await this.#read(chatId);
            // Another answer took its place: this one is at its end.
            at = now === undefined || now.id !== first.id ? { ...at, ended: true } : now;
          }
        },
      },
      { highWaterMark: 0 },
    );
  }

  async #read(chatId: string) {
    const log = this.#log(chatId);
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

  #log(chatId: string): ItemLog {
    return new ItemLog(this.#options.store, chatKey(this.#options, AGENT, chatId), AGENT);
  }
}

/** Writes what came while the last commit was under way in one go. */
class Writer {
  readonly #log: ItemLog;
  readonly #id: string;
  readonly #alive: NodeJS.Timeout;
  #waiting: JsonValue[] = [];
  #writing: Promise<void> = Promise.resolve();
  #isQueued = false;
  #hasFailed = false;

  constructor(log: ItemLog, id: string, aliveMs: number) {
    this.#log = log;
    this.#id = id;
    // A sign of life while a tool runs and nothing is said.
    this.#alive = setInterval(() => this.#flush(), aliveMs);
    this.#alive.unref();
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
    if (this.#hasFailed) return;
    try {
      await this.#log.append((loaded) => {
        // The next answer of the chat has begun, perhaps in another process.
        if (loaded !== undefined && loaded.state.id !== this.#id) return [];
        return entries.map((entry) => this.#log.message(entry as unknown as JsonValue));
      });
    } catch {
      this.#hasFailed = true;
    }
  }
}
