import { type AgentEvent, type ContentBlock, type Message, type ToolResultBlock, textOf } from '@x/core';
import { readableOf } from '../readable-of.js';
import type { UIChunk, UIFinishReason } from './ui-chunk.js';

export interface ToUIMessageStreamOptions {
  /** The id of the answer's message. Default: the client makes one. */
  readonly messageId?: string | undefined;
  /** Words an error for the user. Default: `An error occurred.`, so that nothing of the server shows. */
  readonly onError?: ((error: unknown) => string) | undefined;
}

/** Reasons of an agent in the words of the SDK; every other is `other`. The agent's own goes with the metadata. */
const FINISH: { readonly [stopReason: string]: UIFinishReason } = {
  completed: 'stop',
  permission_required: 'tool-calls',
  truncated: 'length',
  refused: 'content-filter',
  filtered: 'content-filter',
};

/**
 * An agent's events as the stream that `useChat` reads: give it to `createUIMessageStreamResponse`. Each step is a step,
 * tools are dynamic ones with their input as it is written and their progress as preliminary output, a call that waits for a human is an approval request.
 * `context.compacted`, retries and discarded drafts (the ids of their parts) are transient data. The stream always ends with `finish`, also after an error; a reader who leaves ends the agent's call.
 *
 * @example
 * ```ts
 * import { toUIMessageStream } from '@x/ai-sdk';
 * import type { HarnessAgent } from '@x/harness';
 * import { createUIMessageStreamResponse } from 'ai';
 *
 * export const answer = (agent: HarnessAgent, question: string) =>
 *   createUIMessageStreamResponse({ stream: toUIMessageStream(agent.stream(question)) });
 * ```
 */
export function toUIMessageStream(
  events: AsyncIterable<AgentEvent>,
  options: ToUIMessageStreamOptions = {},
): ReadableStream<UIChunk> {
  const source = events[Symbol.asyncIterator]();
  const chunks = chunksOf({ [Symbol.asyncIterator]: () => source }, options);
  // The chunks wait for the next event, and would end behind it.
  return readableOf(chunks, () => source.return?.());
}

async function* chunksOf(
  events: AsyncIterable<AgentEvent>,
  { messageId, onError = () => 'An error occurred.' }: ToUIMessageStreamOptions,
): AsyncGenerator<UIChunk, void, void> {
  const step = new Step();
  let finish: UIChunk = { type: 'finish', finishReason: 'error' };
  yield { type: 'start', ...(messageId === undefined ? {} : { messageId }) };
  try {
    for await (const event of events) {
      if (event.type === 'call.completed') {
        const { stopReason, usage } = event;
        finish = {
          type: 'finish',
          finishReason: FINISH[stopReason] ?? 'other',
          messageMetadata: { stopReason, usage },
        };
      } else if (event.type === 'call.failed') {
        yield* step.end();
        yield { type: 'error', errorText: onError(event.error) };
      } else yield* step.add(event);
    }
    yield* step.end();
  } catch (error) {
    yield* step.end();
    yield { type: 'error', errorText: onError(error) };
  }
  yield finish;
}

/** The state of the step that is being told. */
class Step {
  #isOpen = false;
  #text: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined;
  #texts = 0;
  /** Texts since the model began. */
  #fresh: string[] = [];
  readonly #calls = new Set<string>();
  /** Names of tools whose input is being streamed, by the id of the call. */
  readonly #inputs = new Map<string, string>();

  *add(event: AgentEvent): Generator<UIChunk> {
    switch (event.type) {
      case 'model.started':
        yield* this.end();
        this.#isOpen = true;
        this.#fresh = [];
        yield { type: 'start-step' };
        return;
      case 'text.delta':
        yield* this.#delta('text', event.text);
        return;
      case 'thinking.delta':
        yield* this.#delta('reasoning', event.text);
        return;
      case 'tool.delta': {
        const { toolUseId: toolCallId, name: toolName, inputDelta: inputTextDelta } = event;
        yield* this.#endText();
        if (!this.#inputs.has(toolCallId))
          yield { type: 'tool-input-start', toolCallId, toolName, dynamic: true };
        this.#inputs.set(toolCallId, toolName);
        yield { type: 'tool-input-delta', toolCallId, inputTextDelta };
        return;
      }
      case 'draft.discarded':
        // What was streamed cannot be taken back: the page is told which parts do not count.
        yield* this.#endText();
        yield* this.#endInputs();
        yield { type: 'data-discarded', data: { void: this.#fresh }, transient: true };
        this.#fresh = [];
        return;
      case 'model.retrying':
      case 'model.fallback':
        yield { type: 'data-retry', data: { error: event.error }, transient: true };
        return;
      case 'model.completed':
        if (this.#fresh.length === 0) yield* this.#whole(event.message);
        yield* this.#endText();
        for (const block of event.message.content) yield* filesIn(block);
        return;
      case 'tool.call':
        yield* this.#call(event.call.id, event.call.name, event.call.input);
        return;
      case 'tool.result':
        yield* this.#result(event.result);
        return;
      case 'tool.progress': {
        const { toolUseId: toolCallId, output } = event;
        const result = { output: shown(output), preliminary: true };
        yield { type: 'tool-output-available', toolCallId, ...result, dynamic: true };
        return;
      }
      case 'permission.required':
        for (const call of event.calls) {
          yield* this.#call(call.id, call.name, call.input);
          yield { type: 'tool-approval-request', approvalId: call.approvalId, toolCallId: call.id };
        }
        return;
      case 'context.compacted': {
        const { status, tokensBefore, tokensAfter } = event;
        yield { type: 'data-compaction', data: { status, tokensBefore, tokensAfter }, transient: true };
        return;
      }
      default:
        return;
    }
  }

  *end(): Generator<UIChunk> {
    yield* this.#endText();
    yield* this.#endInputs();
    if (this.#isOpen) yield { type: 'finish-step' };
    this.#isOpen = false;
  }

  *#delta(type: 'text' | 'reasoning', delta: string): Generator<UIChunk> {
    if (this.#text?.type !== type) {
      yield* this.#endText();
      this.#text = { type, id: String(++this.#texts) };
      this.#fresh.push(this.#text.id);
      yield { type: `${type}-start`, id: this.#text.id };
    }
    yield { type: `${type}-delta`, id: this.#text.id, delta };
  }

  *#endText(): Generator<UIChunk> {
    if (this.#text !== undefined) yield { type: `${this.#text.type}-end`, id: this.#text.id };
    this.#text = undefined;
  }

  /** Closes inputs of calls that were not made: of a draft that was discarded, or an answer that was cut off. */
  *#endInputs(): Generator<UIChunk> {
    for (const [toolCallId, toolName] of this.#inputs) {
      const errorText = 'This call was not made.';
      yield { type: 'tool-input-error', toolCallId, toolName, input: undefined, errorText, dynamic: true };
    }
    this.#inputs.clear();
  }

  /** An answer that was not streamed. */
  *#whole({ content }: Message): Generator<UIChunk> {
    for (const block of content) {
      if (block.type === 'text' && block.text !== '') yield* this.#delta('text', block.text);
      if (block.type === 'thinking' && block.thinking !== '') yield* this.#delta('reasoning', block.thinking);
    }
  }

  *#call(toolCallId: string, toolName: string, input: unknown): Generator<UIChunk> {
    this.#inputs.delete(toolCallId);
    if (this.#calls.has(toolCallId)) return;
    this.#calls.add(toolCallId);
    yield { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true };
  }

  *#result(result: ToolResultBlock): Generator<UIChunk> {
    const { toolUseId: toolCallId, toolName, output, isError } = result;
    // A call of an earlier answer, such as one that was approved, is not in this message yet.
    yield* this.#call(toolCallId, toolName, {});
    if (isError) yield { type: 'tool-output-error', toolCallId, errorText: textOf([result]), dynamic: true };
    else yield { type: 'tool-output-available', toolCallId, output: shown(output), dynamic: true };
  }
}

/** What a tool returned, as text where it is nothing else. */
function shown(output: ToolResultBlock['output']) {
  return output.every(({ type }) => type === 'text') ? textOf(output) : output;
}

function* filesIn(block: ContentBlock): Generator<UIChunk> {
  if (block.type !== 'file') return;
  const { mediaType, source } = block;
  if (source.type === 'url') yield { type: 'file', url: source.url, mediaType };
  if (source.type === 'base64')
    yield { type: 'file', url: `data:${mediaType};base64,${source.data}`, mediaType };
}
