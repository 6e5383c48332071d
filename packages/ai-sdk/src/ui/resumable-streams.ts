import { SessionStoreError, StreamLog } from '@x/core';
import { collectionOf, parseWith, type StreamLogOptions } from '@x/core/internal';
import * as z from 'zod';
import { readableOf } from '../readable-of.js';
import { type ChatOptions, chatKey, chatSchema } from './chat-key.js';

const BROKEN: readonly string[] = ['stream_failed', 'stream_stalled'];

/** Options of {@link ResumableStreams}. */
export interface ResumableStreamsOptions extends ChatOptions, StreamLogOptions {}

const optionsSchema = z.strictObject({
  ...chatSchema.shape,
  pollMs: z.number().positive().default(100),
  stallMs: z.number().positive().default(60_000),
});

/**
 * Stores the answer that a chat is streaming, so that a reloaded page or another process can read it, from its beginning or from a cursor.
 * Each chat has one stored answer. The next answer replaces it.
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
   * @throws {InvalidInputError} with the name of each missing, unknown or invalid option.
   * @throws {CapabilityError} if the store has no collections.
   */
  constructor(options: ResumableStreamsOptions) {
    this.#options = parseWith(optionsSchema, options, 'ResumableStreams options');
    collectionOf(this.#options.store, 'streams');
  }

  /**
   * Stores a stream and returns it. The source is read to its end, even if the reader disconnects. The reader can continue with
   * {@link ResumableStreams.resume}. A failure of the store does not end the stream.
   */
  async record<Chunk>(chatId: string, source: ReadableStream<Chunk>): Promise<ReadableStream<Chunk>> {
    return readableOf(await this.#log(chatId).record(chunksOf(source)));
  }

  /**
   * Reads the answer that is being streamed now.
   *
   * @param cursor The number of chunks to skip, because the reader has them already. Default 0.
   * @returns `undefined` if no answer is being streamed. The stored messages of the chat are then complete.
   */
  async resume<Chunk = never>(chatId: string, cursor = 0): Promise<ReadableStream<Chunk> | undefined> {
    // Read from the beginning, because a call before the cursor may have no result yet.
    const chunks = await this.#log(chatId).resume<Chunk>();
    return chunks && readableOf(withBreak(chunks, cursor));
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

/**
 * Skips the chunks before the cursor. If the source failed or its process died, ends open calls, and then the stream with an error chunk. If
 * the stream failed instead, the page would request it again.
 */
async function* withBreak<Chunk>(
  chunks: AsyncGenerator<Chunk, void>,
  cursor: number,
): AsyncGenerator<Chunk, void> {
  const open = new Map<string, Partial<UICall>>();
  let seen = 0;
  try {
    for await (const chunk of chunks) {
      noteCall(Object(chunk), open);
      if (seen++ >= cursor) yield chunk;
    }
  } catch (error) {
    if (!SessionStoreError.isInstance(error) || !BROKEN.includes(error.code)) throw error;
    const errorText = 'No result: the answer broke off.';
    for (const [toolCallId, call] of open)
      yield { type: 'tool-output-error', toolCallId, errorText, ...call } as Chunk;
    yield { type: 'error', errorText: 'The answer broke off.' } as Chunk;
  }
}

/** A chunk about a tool call, of any application. */
interface UICall {
  readonly type: string;
  readonly toolCallId?: string;
  readonly dynamic?: boolean;
  readonly preliminary?: boolean;
}

/** Updates the calls that the page shows as running. A call that waits for a decision is not running. */
function noteCall(
  { type, toolCallId, dynamic, preliminary }: UICall,
  open: Map<string, Partial<UICall>>,
): void {
  if (toolCallId === undefined || preliminary || type === 'tool-input-delta') return;
  if (type === 'tool-input-start' || type === 'tool-input-available')
    open.set(toolCallId, dynamic ? { dynamic } : {});
  else open.delete(toolCallId);
}
