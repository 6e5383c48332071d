import { type Compactor, isContextOverflow, type JsonObject } from '@x/core';
import { errorText, notify, overflowFigures, parseWith, warn, wellFormed } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import {
  type AiSdkLanguageModel,
  type CallOptions,
  type FinishReasonLike,
  type GenerateResult,
  refuseNoModel,
  type StreamLike,
  type StreamPart,
} from '../language-model.js';
import { readableOf } from '../readable-of.js';
import { rawFinishReason } from '../response/to-response.js';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';

/** Types of parts that come before a stream's content. */
const PREAMBLE: readonly string[] = ['stream-start', 'response-metadata', 'raw', 'ping'];
/** Types of parts that announce content. The reader has received no content yet. */
const OPENING: readonly string[] = ['text-start', 'reasoning-start'];
/** The raw finish reason of an answer that ended because the context window is full. */
const WINDOW_FULL = 'model_context_window_exceeded';

/**
 * Wraps a model so that it recovers from context overflows. If the provider reports that a request does not fit the context window, the
 * compactor reduces the prompt, and the request is sent once more. Later requests that begin with the same conversation are sent reduced
 * from the start.
 *
 * If the compactor fails or cannot reduce the prompt, the provider's error is passed on unchanged. So is an error of the second request.
 *
 * A stream is returned immediately. If it overflows before its first content, it continues with the stream of the second request, but
 * keeps the metadata of the first. Empty text and reasoning parts that are open are closed first. After its first content, a stream is not
 * restarted. The signal of the call also aborts the compaction.
 *
 * @example
 * ```ts
 * const model = withOverflowRecovery(openai('gpt-5'), createCompactor({ contextWindow: 400_000 }));
 * ```
 * @throws {InvalidInputError} for unknown or invalid options, or if `model` is not a model or `compactor` is not a compactor.
 * @throws {CapabilityError} if the store in `remember` has no collections.
 */
export function withOverflowRecovery<Model extends AiSdkLanguageModel>(
  model: Model,
  compactor: Compactor,
  options: Omit<AgentCompactionOptions, 'system' | 'tools'> = {},
): Model {
  refuseNoModel(model, 'withOverflowRecovery');
  const { onCompaction, onUsage, contextWindow, remember } = parseWith(
    agentCompactionSchema.omit({ system: true, tools: true }),
    options,
    'withOverflowRecovery options',
  );
  const reductions = new Reductions(compactor, remember);
  const prompts: Prompts = {
    async first(call) {
      const prompt = call.prompt as readonly SdkMessage[];
      await reductions.recollect(prompt);
      return { ...call, prompt: wellFormed(reductions.recall(prompt)) };
    },
    async second(call, error) {
      // The window of the model may be smaller than the compactor knows.
      const windows = [contextWindow, overflowFigures(error).contextWindow].filter(
        (size) => size !== undefined,
      );
      try {
        const { messages, outcome } = await reductions.reduce(call.prompt as readonly SdkMessage[], {
          reason: 'request_too_large',
          tools: definitionsOf(call.tools),
          onUsage,
          ...(windows.length === 0 ? {} : { contextWindow: Math.min(...windows) }),
          ...(call.abortSignal === undefined ? {} : { signal: call.abortSignal }),
        });
        notify('onCompaction', onCompaction, outcome);
        return outcome.status === 'applied' ? { ...call, prompt: wellFormed(messages) } : undefined;
      } catch (failure) {
        call.abortSignal?.throwIfAborted();
        warn(`A prompt that does not fit the window could not be reduced: ${errorText(failure)}`);
        return undefined;
      }
    },
  };
  return new Proxy(model, {
    get(target, property) {
      if (property === 'doGenerate') return (call: CallOptions) => generate(model, prompts, call);
      if (property === 'doStream') return (call: CallOptions) => stream(model, prompts, call);
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' && property !== 'constructor' ? value.bind(target) : value;
    },
  });
}

interface Prompts {
  /** Returns the first request. If its beginning was reduced before, it is sent reduced. */
  first(call: CallOptions): Promise<CallOptions>;
  /** Returns the request after an overflow error, or `undefined` if the compactor fails or cannot reduce the prompt. */
  second(call: CallOptions, error: unknown): Promise<CallOptions | undefined>;
}

async function generate(
  model: AiSdkLanguageModel,
  prompts: Prompts,
  call: CallOptions,
): Promise<GenerateResult> {
  let full: GenerateResult | undefined;
  let overflow: unknown;
  try {
    full = await model.doGenerate(await prompts.first(call));
    if (!isFull(full)) return full;
  } catch (error) {
    if (!isContextOverflow(error)) throw error;
    overflow = error;
  }
  const second = await prompts.second(call, overflow);
  if (second !== undefined) return model.doGenerate(second);
  if (full === undefined) throw overflow;
  return full;
}

async function stream(model: AiSdkLanguageModel, prompts: Prompts, call: CallOptions) {
  try {
    const first = await model.doStream(await prompts.first(call));
    if (first?.stream === undefined) return first;
    const again = async (error: unknown, left: AbortSignal): Promise<StreamLike<StreamPart> | undefined> => {
      const abortSignal = AbortSignal.any([left, ...(call.abortSignal ? [call.abortSignal] : [])]);
      const second = await prompts.second({ ...call, abortSignal }, error);
      left.throwIfAborted();
      return second && (await model.doStream(second)).stream;
    };
    return { ...first, stream: recovering(first.stream, again) };
  } catch (error) {
    const second = isContextOverflow(error) ? await prompts.second(call, error) : undefined;
    if (second === undefined) throw error;
    return model.doStream(second);
  }
}

/** Returns the definitions of the tools that the application runs, so that their tokens are counted. */
function definitionsOf(tools: CallOptions['tools'] = []): readonly ToolDefinition[] {
  return (tools as readonly Readonly<Record<string, unknown>>[]).flatMap(
    ({ type, name, description = '', inputSchema = {} }) =>
      type === 'function' && typeof name === 'string'
        ? [{ name, description: String(description), inputSchema: inputSchema as JsonObject }]
        : [],
  );
}

/** Tests if an answer ended because the window is full. `false` for other values, which middleware under test may return. */
function isFull(answer: { readonly finishReason?: FinishReasonLike } | undefined): boolean {
  return answer?.finishReason !== undefined && rawFinishReason(answer.finishReason) === WINDOW_FULL;
}

/** Returns whether a part comes before the content, announces content, reports an overflow, or is content. */
function roleOf(part: StreamPart): 'preamble' | 'opening' | 'overflow' | 'content' {
  if (PREAMBLE.includes(part.type)) return 'preamble';
  if (OPENING.includes(part.type)) return 'opening';
  const isFailed = part.type === 'error' && isContextOverflow(part.error);
  return isFailed || (part.type === 'finish' && isFull(part)) ? 'overflow' : 'content';
}

/**
 * Passes a stream through, without reading ahead. If an overflow comes before the first content, as a part or as an error of the stream,
 * continues with the stream that `again` returns, without its preamble. If `again` returns `undefined`, the overflow is passed on. If
 * `again` fails, its error becomes a part. If the reader cancels in the meantime, the signal is aborted.
 */
function recovering(
  source: StreamLike<StreamPart>,
  again: (error: unknown, signal: AbortSignal) => Promise<StreamLike<StreamPart> | undefined>,
): ReadableStream<StreamPart> {
  let reader = source.getReader();
  const left = new AbortController();

  async function* rest(): AsyncGenerator<StreamPart, void> {
    for (;;) {
      const { done, value } = await reader.read();
      if (done || value === undefined) return;
      yield value;
    }
  }

  async function* parts(): AsyncGenerator<StreamPart, void> {
    const opened: StreamPart[] = [];
    let overflow: { readonly part?: StreamPart; readonly error: unknown } | undefined;
    try {
      for await (const part of rest()) {
        const role = roleOf(part);
        if (role === 'overflow') {
          overflow = { part, error: part.type === 'error' ? part.error : undefined };
          break;
        }
        if (role === 'opening') opened.push(part);
        yield part;
        if (role === 'content') return yield* rest();
      }
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      overflow = { error };
    }
    if (overflow === undefined) return;
    let next: StreamLike<StreamPart> | undefined;
    try {
      next = await again(overflow.error, left.signal);
    } catch (error) {
      // Report the error of the second request, not the overflow of the first.
      yield { type: 'error', error };
      return;
    }
    if (left.signal.aborted) return await next?.getReader().cancel();
    if (next === undefined) {
      if (overflow.part === undefined) throw overflow.error;
      yield overflow.part;
      return yield* rest();
    }
    reader.cancel().catch(() => {});
    reader = next.getReader();
    yield* opened.map(closing);
    let isPreamble = true;
    for await (const part of rest()) {
      isPreamble &&= roleOf(part) === 'preamble';
      if (!isPreamble) yield part;
    }
  }

  return readableOf(parts(), (reason) => {
    left.abort(reason);
    return reader.cancel(reason);
  });
}

/** Returns the part that closes an opening part. Without its metadata, because the provider's answer that it refers to is discarded. */
function closing(part: StreamPart): StreamPart {
  const { type, id } = part as unknown as { readonly type: string; readonly id: string };
  return { type: type.replace('-start', '-end'), id, providerMetadata: {} } as unknown as StreamPart;
}
