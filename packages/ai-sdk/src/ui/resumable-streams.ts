import { SessionStoreError, StreamLog } from '@x/core';
import { collectionOf, parseWith, type StreamLogOptions } from '@x/core/internal';
import * as z from 'zod';
import { readableOf } from '../readable-of.js';
import { type ChatOptions, chatKey, chatSchema } from './chat-key.js';

const BROKEN: readonly string[] = ['stream_failed', 'stream_stalled'];

export interface ResumableStreamsOptions extends ChatOptions, StreamLogOptions {}

const optionsSchema = z.strictObject({
  ...chatSchema.shape,
  pollMs: z.number().positive().default(100),
  stallMs: z.number().positive().default(60_000),
});

/**
 * Keeps the answer that a chat is streaming, so that a page that was reloaded, or another process, reads it from the
 * beginning or from a cursor. One answer a chat: the next one takes the place of the last.
 *
 * @example
 * ```ts
 * import { ResumableStreams, toUIMessageStream } from '@x/ai-sdk';
 * import { JsonSession } from '@x/core/node';
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

  /**
   * @throws {InvalidInputError} naming an option that is missing, unknown or wrong.
   * @throws {CapabilityError} for a store without collections.
   */
  constructor(options: ResumableStreamsOptions) {
    this.#options = parseWith(optionsSchema, options, 'ResumableStreams options');
    collectionOf(this.#options.store, 'streams');
  }

  /**
   * Passes a stream on and keeps it. The source is read to its end whether or not someone still reads the result: who
   * leaves comes back by {@link ResumableStreams.resume}. A store that fails does not end the stream.
   */
  async record<Chunk>(chatId: string, source: ReadableStream<Chunk>): Promise<ReadableStream<Chunk>> {
    return readableOf(await this.#log(chatId).record(chunksOf(source)));
  }

  /**
   * Reads the answer that is being streamed now.
   *
   * @param cursor The number of chunks that the reader has already.
   * @returns `undefined` when nothing is being streamed: the chat's stored messages are all there is.
   */
  async resume<Chunk = never>(chatId: string, cursor = 0): Promise<ReadableStream<Chunk> | undefined> {
    const chunks = await this.#log(chatId).resume<Chunk>(cursor);
    return chunks && readableOf(withBreak(chunks));
  }

  #log(chatId: string): StreamLog {
    const { store, pollMs, stallMs } = this.#options;
    return new StreamLog(store, chatKey(this.#options, chatId), { pollMs, stallMs });
  }
}

async function* chunksOf<Chunk>(stream: ReadableStream<Chunk>): AsyncGenerator<Chunk, void> {
  const reader = stream.getReader();
  for (let read = await reader.read(); !read.done; read = await reader.read()) yield read.value;
}

/** Tells the page of a source that failed, or a writer that died, by a chunk: a stream that fails would only be asked for again. */
async function* withBreak<Chunk>(chunks: AsyncGenerator<Chunk, void>): AsyncGenerator<Chunk, void> {
  try {
    yield* chunks;
  } catch (error) {
    if (!SessionStoreError.isInstance(error) || !BROKEN.includes(error.code)) throw error;
    yield { type: 'error', errorText: 'The answer broke off.' } as Chunk;
  }
}
