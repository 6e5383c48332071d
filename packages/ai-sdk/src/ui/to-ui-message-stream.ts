import {
  type AgentEvent,
  type ClientEvent,
  type ContentBlock,
  type OpaqueBlock,
  type PendingCall,
  type ThinkingBlock,
  type ToolResultBlock,
  textOf,
  toClientError,
  toClientEvent,
} from '@x/core';
import { isObject, type WordError, withoutOpenCalls } from '@x/core/internal';
import { parseInput } from '@x/core/messages';
import { thinkingMetadata } from '../prompt/to-prompt.js';
import { readableOf } from '../readable-of.js';
import type { Metadata, UIChunk, UIFinishReason } from './ui-chunk.js';

export interface ToUIMessageStreamOptions {
  /** The id of the answer's message. Default: the client creates one. */
  readonly messageId?: string | undefined;
  /** Returns the error message for the user. Default: the error's `clientMessage`, or "An error occurred.". */
  readonly onError?: WordError | undefined;
  /**
   * The major version of the AI SDK on the page. Version 5 has no approval requests. For it, they are sent as `data-approval` parts with
   * `approvalId` and `toolCallId`, and the page must send the decision itself. Default: 6, also for later versions.
   */
  readonly version?: 5 | 6 | undefined;
}

/** Maps an agent's stop reasons to the SDK's finish reasons. Others become `other`. The metadata has the agent's own reason. */
const FINISH: { readonly [stopReason: string]: UIFinishReason } = {
  completed: 'stop',
  permission_required: 'tool-calls',
  truncated: 'length',
  refused: 'content-filter',
  filtered: 'content-filter',
};

/**
 * Converts an agent's events to the stream that `useChat` reads. Pass it to `createUIMessageStreamResponse`.
 *
 * - One model call is one step. Tools are sent as dynamic tools: their input is streamed, and their progress is preliminary output. A call
 *   that needs approval is an approval request.
 * - Provider-run tools, sources and files are sent after the answer is complete. So is `reasoning-end`, because it has the provider's
 *   metadata.
 * - `context.compacted` and retries are sent as transient data parts. For a discarded draft, such a part lists the ids of the parts to remove.
 * - An error is sent as a transient part `data-error` with `{ code, message }`, then as `error` with the message.
 * - The stream always ends with `finish`, also after an error. If the reader cancels the stream, the agent's call is interrupted.
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
  // If only the generator were cancelled, it would end after the next event. So cancel the source directly.
  return readableOf(chunks, () => source.return?.());
}

async function* chunksOf(
  events: AsyncIterable<AgentEvent>,
  { messageId, onError, version = 6 }: ToUIMessageStreamOptions,
): AsyncGenerator<UIChunk, void, void> {
  const step = new Step(version);
  let finish: UIChunk = { type: 'finish', finishReason: 'error' };
  let hasReportedFailure = false;
  yield { type: 'start', ...(messageId === undefined ? {} : { messageId }) };
  try {
    for await (const event of withoutOpenCalls(events)) {
      if (event.type === 'call.completed') {
        const { stopReason, usage } = event;
        finish = {
          type: 'finish',
          finishReason: FINISH[stopReason] ?? 'other',
          messageMetadata: { stopReason, usage },
        };
      } else if (event.type === 'call.failed') {
        yield* step.end();
        yield* failureOf(event.error, onError);
        hasReportedFailure = true;
      } else yield* step.add(toClientEvent(event, onError));
    }
    yield* step.end();
  } catch (error) {
    yield* step.end();
    if (!hasReportedFailure) yield* failureOf(error, onError);
  }
  yield finish;
}

/** The page can distinguish errors by `code`. */
function* failureOf(error: unknown, onError: WordError | undefined): Generator<UIChunk> {
  const data = toClientError(error, onError);
  yield { type: 'data-error', data, transient: true };
  yield { type: 'error', errorText: data.message };
}

/** The state of the step that is being streamed. */
class Step {
  #isOpen = false;
  #text: { readonly type: 'text' | 'reasoning'; readonly id: string } | undefined;
  #texts = 0;
  /** Ids of the text parts of the current model call. */
  #fresh: string[] = [];
  /** Reasoning parts of the current model call. They are still open, because their metadata arrives with the whole answer. */
  #thoughts: { readonly id: string; text: string }[] = [];
  /** Ids of the calls that the page shows. */
  readonly #calls = new Set<string>();
  /** Calls that the provider runs and that have no result yet. */
  readonly #openProviderCalls = new Set<string>();
  /** Names of tools whose input is being streamed, by the id of the call. */
  readonly #inputs = new Map<string, string>();
  /** Calls that a person has decided about and that have not run yet, by id. */
  readonly #decided = new Map<string, PendingCall>();

  readonly #version: 5 | 6;

  constructor(version: 5 | 6) {
    this.#version = version;
  }

  *add(event: ClientEvent): Generator<UIChunk> {
    // Long because it maps each type of event to its chunks.
    switch (event.type) {
      case 'model.started':
        yield* this.#endStep();
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
        // Streamed parts cannot be taken back, so the page receives the ids of discarded parts.
        yield* this.#endTexts();
        yield* this.#endInputs();
        yield { type: 'data-discarded', data: { void: this.#fresh }, transient: true };
        this.#fresh = [];
        return;
      case 'model.retrying':
      case 'model.fallback':
        yield { type: 'data-retry', data: { error: event.error.message }, transient: true };
        return;
      case 'model.completed': {
        const { content } = event.message;
        const wasStreamed = this.#fresh.length > 0;
        for (const block of content) yield* this.#block(block, wasStreamed);
        yield* this.#endTexts(content.filter((block) => block.type === 'thinking' && block.thinking !== ''));
        return;
      }
      case 'tool.call':
        yield* this.#call(event.call.id, event.call.name, event.call.input);
        return;
      case 'tool.result':
        yield* this.#result(event.result);
        return;
      case 'tool.progress': {
        const { toolUseId: toolCallId, output } = event;
        const result = { output: outputOf(output), preliminary: true };
        yield { type: 'tool-output-available', toolCallId, ...result, dynamic: true };
        return;
      }
      case 'permission.required':
        for (const call of event.calls) {
          const toolCallId = callIdOnPage(call);
          yield* this.#call(toolCallId, call.name, call.input);
          const request = { approvalId: call.approvalId, toolCallId };
          if (this.#version === 5) yield { type: 'data-approval', data: request };
          else yield { type: 'tool-approval-request', ...request };
        }
        // Calls after an undecided call run once that is decided. Without an output, `useChat` would not send that decision, or would
        // send theirs again.
        for (const toolCallId of [...this.#inputs.keys(), ...(yield* this.#undone())]) {
          const output = 'This call waits for another decision.';
          yield { type: 'tool-output-available', toolCallId, output, dynamic: true };
        }
        this.#inputs.clear();
        return;
      case 'permission.decided': {
        const { call, decision } = event;
        if (decision === 'superseded') return;
        if (!call.agentId) {
          this.#decided.set(call.id, call);
          return;
        }
        // The page never gets the result of a subagent's call. Without an output, `useChat` would send the decision again.
        const toolCallId = callIdOnPage(call);
        yield* this.#call(toolCallId, call.name, call.input);
        const output = `Decision: ${decision}. The result goes to the subagent.`;
        yield { type: 'tool-output-available', toolCallId, output, dynamic: true };
        return;
      }
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
    const errorText = 'No result: the stream ended before this call did.';
    for (const toolCallId of this.#openProviderCalls)
      yield { type: 'tool-output-error', toolCallId, errorText, providerExecuted: true, dynamic: true };
    for (const toolCallId of yield* this.#undone())
      yield { type: 'tool-output-error', toolCallId, errorText, dynamic: true };
    yield* this.#endStep();
  }

  /** Shows the calls that were decided about and did not run, and returns their ids. */
  *#undone(): Generator<UIChunk, readonly string[]> {
    const calls = [...this.#decided.values()];
    for (const { id, name, input } of calls) yield* this.#call(id, name, input);
    return calls.map(({ id }) => id);
  }

  *#endStep(): Generator<UIChunk> {
    yield* this.#endTexts();
    yield* this.#endInputs();
    if (this.#isOpen) yield { type: 'finish-step' };
    this.#isOpen = false;
  }

  *#delta(type: 'text' | 'reasoning', delta: string): Generator<UIChunk> {
    if (this.#text?.type !== type) {
      yield* this.#endText();
      this.#text = { type, id: String(++this.#texts) };
      this.#fresh.push(this.#text.id);
      if (type === 'reasoning') this.#thoughts.push({ id: this.#text.id, text: '' });
      yield { type: `${type}-start`, id: this.#text.id };
    }
    const thought = type === 'reasoning' ? this.#thoughts.at(-1) : undefined;
    if (thought !== undefined) thought.text += delta;
    yield { type: `${type}-delta`, id: this.#text.id, delta };
  }

  *#endText(): Generator<UIChunk> {
    if (this.#text?.type === 'text') yield { type: 'text-end', id: this.#text.id };
    this.#text = undefined;
  }

  /** Also closes reasoning parts, with the metadata from the whole answer. */
  *#endTexts(blocks: readonly ContentBlock[] = []): Generator<UIChunk> {
    yield* this.#endText();
    for (const [at, { id, text }] of this.#thoughts.entries()) {
      const block = blocks[at] as ThinkingBlock | undefined;
      yield {
        type: 'reasoning-end',
        id,
        ...(block?.thinking === text && metadataOf(thinkingMetadata(block))),
      };
    }
    this.#thoughts = [];
  }

  /** Closes inputs of calls that were not made, because the draft was discarded or the answer was cut off. */
  *#endInputs(): Generator<UIChunk> {
    for (const [toolCallId, toolName] of this.#inputs) {
      const errorText = 'This call was not made.';
      yield { type: 'tool-input-error', toolCallId, toolName, input: {}, errorText, dynamic: true };
    }
    this.#inputs.clear();
  }

  /** Emits a block of a whole answer. Skips texts that were already streamed. */
  *#block(block: ContentBlock, wasStreamed: boolean): Generator<UIChunk> {
    if (block.type === 'text' || block.type === 'thinking') {
      const [type, text] =
        block.type === 'text' ? (['text', block.text] as const) : (['reasoning', block.thinking] as const);
      if (!wasStreamed && text !== '') yield* this.#delta(type, text);
      return;
    }
    yield* this.#endText();
    if (block.type === 'opaque') yield* this.#providerBlock(block);
    if (block.type !== 'file') return;
    const { mediaType, source, providerMetadata } = block;
    const metadata = metadataOf(providerMetadata);
    if (source.type === 'url') yield { type: 'file', url: source.url, mediaType, ...metadata };
    if (source.type === 'base64')
      yield { type: 'file', url: `data:${mediaType};base64,${source.data}`, mediaType, ...metadata };
  }

  /** Emits a source, a provider-run tool call, or its result. `data` is in the format of the SDK's models. */
  *#providerBlock({ data, callId, half }: OpaqueBlock): Generator<UIChunk> {
    if (!isObject(data)) return;
    const { type, toolName, input, result, isError, sourceType, id, url, mediaType, title, filename } =
      data as Readonly<Record<string, string | undefined>>;
    const metadata = metadataOf(data.providerMetadata);
    const run = { providerExecuted: true, dynamic: true } as const;
    if (type === 'source' && id !== undefined) {
      if (sourceType === 'url' && url !== undefined)
        yield { type: 'source-url', sourceId: id, url, ...(title !== undefined && { title }), ...metadata };
      if (sourceType === 'document' && mediaType !== undefined)
        yield {
          type: 'source-document',
          sourceId: id,
          mediaType,
          title: title ?? '',
          ...(filename !== undefined && { filename }),
          ...metadata,
        };
    }
    if (callId === undefined || toolName === undefined) return;
    if (type === 'tool-call') {
      this.#openProviderCalls.add(callId);
      yield* this.#call(callId, toolName, parseInput(input), { ...run, ...metadata });
    }
    if (half !== 'result') return;
    this.#openProviderCalls.delete(callId);
    // The call may be in an earlier answer.
    yield* this.#call(callId, toolName, {}, run);
    if (isError)
      yield {
        type: 'tool-output-error',
        toolCallId: callId,
        errorText: typeof result === 'string' ? result : JSON.stringify(result),
        ...run,
      };
    else yield { type: 'tool-output-available', toolCallId: callId, output: result ?? null, ...run };
  }

  *#call(toolCallId: string, toolName: string, input: unknown, more = {}): Generator<UIChunk> {
    this.#inputs.delete(toolCallId);
    this.#decided.delete(toolCallId);
    if (this.#calls.has(toolCallId)) return;
    this.#calls.add(toolCallId);
    yield { type: 'tool-input-available', toolCallId, toolName, input, dynamic: true, ...more };
  }

  *#result(result: ToolResultBlock): Generator<UIChunk> {
    const { toolUseId: toolCallId, toolName, output, isError } = result;
    // A call of an earlier answer, such as one that was approved, is not in this message yet.
    yield* this.#call(toolCallId, toolName, {});
    if (isError) yield { type: 'tool-output-error', toolCallId, errorText: textOf([result]), dynamic: true };
    else yield { type: 'tool-output-available', toolCallId, output: outputOf(output), dynamic: true };
  }
}

/** A subagent's call may have the same id as another call, so the page gets the id of its approval instead. */
function callIdOnPage({ id, approvalId, agentId }: PendingCall): string {
  return agentId ? approvalId : id;
}

/** Returns a tool's output, as a string if it consists of text only. */
function outputOf(output: ToolResultBlock['output']) {
  return output.every(({ type }) => type === 'text') ? textOf(output) : output;
}

function metadataOf(metadata: unknown): { providerMetadata?: Metadata } {
  return isObject(metadata) ? { providerMetadata: metadata as Metadata } : {};
}
