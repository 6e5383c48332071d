import {
  type Compactor,
  errorText,
  isContextOverflow,
  type JsonObject,
  parseWith,
  type ToolDefinition,
  tell,
  warn,
} from '@x/core';
import {
  type AiSdkLanguageModel,
  type CallOptions,
  type FinishReasonLike,
  type GenerateResult,
  refuseNoModel,
  type StreamLike,
  type StreamPart,
} from '../language-model.js';
import { rawFinishReason } from '../response/to-response.js';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';

/** Parts before a stream's content. */
const PREAMBLE: readonly string[] = ['stream-start', 'response-metadata', 'raw', 'ping'];
/** Parts behind which content comes: nobody has read any yet. */
const OPENING: readonly string[] = ['text-start', 'reasoning-start'];
const WINDOW_FULL = 'model_context_window_exceeded';

/**
 * The model with a second chance: when the provider says that a request does not fit the context window, the compactor
 * reduces the prompt and the request is made once more, for `doGenerate` and `doStream` alike. Later requests that begin
 * with the same conversation are sent reduced at once. When the compactor cannot help or fails, the provider's error is
 * passed on as it came; so is that of the second request. A stream is handed over at once: one that overflows before its
 * first content goes on with the second request's, under the first one's metadata: a text or a reasoning that was opened
 * and stayed empty is closed first. One that has given content already is not begun again. The signal of the call ends the compaction, too.
 *
 * @throws {InvalidInputError} for options that do not fit, and what is no model or no compactor.
 */
export function withOverflowRecovery<Model extends AiSdkLanguageModel>(
  model: Model,
  compactor: Compactor,
  options: Omit<AgentCompactionOptions, 'system' | 'tools'> = {},
): Model {
  refuseNoModel(model, 'withOverflowRecovery');
  const { onCompaction, contextWindow, remember } = parseWith(
    agentCompactionSchema.omit({ system: true, tools: true }),
    options,
    'withOverflowRecovery options',
  );
  const reductions = new Reductions(compactor, remember);

  /** The second request; `undefined` where the compactor cannot help, or fails: what the provider said is told then. */
  async function reduced(call: CallOptions): Promise<CallOptions | undefined> {
    try {
      const { messages, outcome } = await reductions.reduce(call.prompt as readonly SdkMessage[], {
        reason: 'request_too_large',
        tools: definitionsOf(call.tools),
        ...(contextWindow === undefined ? {} : { contextWindow }),
        ...(call.abortSignal === undefined ? {} : { signal: call.abortSignal }),
      });
      tell('onCompaction', onCompaction, outcome);
      return outcome.status === 'applied' ? { ...call, prompt: messages } : undefined;
    } catch (error) {
      call.abortSignal?.throwIfAborted();
      warn(`A prompt that does not fit the window could not be reduced: ${errorText(error)}`);
      return undefined;
    }
  }

  const recalled = (call: CallOptions): CallOptions => ({
    ...call,
    prompt: reductions.recall(call.prompt as readonly SdkMessage[]),
  });

  async function doGenerate(call: CallOptions): Promise<GenerateResult> {
    let failure: () => GenerateResult;
    try {
      const result = await model.doGenerate(recalled(call));
      if (!isFull(result)) return result;
      failure = () => result;
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      failure = () => {
        throw error;
      };
    }
    const second = await reduced(call);
    return second === undefined ? failure() : model.doGenerate(second);
  }

  async function doStream(call: CallOptions) {
    try {
      const first = await model.doStream(recalled(call));
      if (first?.stream === undefined) return first;
      const again = async (left: AbortSignal): Promise<StreamLike<StreamPart> | undefined> => {
        const abortSignal = AbortSignal.any([left, ...(call.abortSignal ? [call.abortSignal] : [])]);
        const second = await reduced({ ...call, abortSignal });
        left.throwIfAborted();
        if (second === undefined) return undefined;
        try {
          return (await model.doStream(second)).stream;
        } catch (error) {
          // What became of the second request is what the reader is told.
          return failed(error);
        }
      };
      return { ...first, stream: spliceStream(first.stream, roleOf, again) };
    } catch (error) {
      const second = isContextOverflow(error) ? await reduced(call) : undefined;
      if (second === undefined) throw error;
      return model.doStream(second);
    }
  }

  return new Proxy(model, {
    get(target, property) {
      if (property === 'doGenerate') return doGenerate;
      if (property === 'doStream') return doStream;
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' && property !== 'constructor' ? value.bind(target) : value;
    },
  });
}

/** The tools of a call as far as they can be counted: those that the application runs. */
function definitionsOf(tools: CallOptions['tools'] = []): readonly ToolDefinition[] {
  return (tools as readonly Readonly<Record<string, unknown>>[]).flatMap(
    ({ type, name, description = '', inputSchema = {} }) =>
      type === 'function' && typeof name === 'string'
        ? [{ name, description: String(description), inputSchema: inputSchema as JsonObject }]
        : [],
  );
}

/** What is no answer at all, as of middleware under test, is none that filled the window. */
function isFull(answer: { readonly finishReason?: FinishReasonLike } | undefined): boolean {
  return answer?.finishReason !== undefined && rawFinishReason(answer.finishReason) === WINDOW_FULL;
}

/** A stream of one failure. */
function failed(error: unknown): ReadableStream<StreamPart> {
  return new ReadableStream({
    start(controller) {
      controller.enqueue({ type: 'error', error } as StreamPart);
      controller.close();
    },
  });
}

function roleOf(part: StreamPart): Role {
  if (PREAMBLE.includes(part.type)) return 'preamble';
  if (OPENING.includes(part.type)) return 'opening';
  const isFailed = part.type === 'error' && isContextOverflow(part.error);
  return isFailed || (part.type === 'finish' && isFull(part)) ? 'overflow' : 'content';
}

/** Whether a part may come before an overflow, opens what content comes behind, is an overflow, or is content. */
type Role = 'preamble' | 'opening' | 'overflow' | 'content';

/**
 * Passes a stream through, reading no sooner than its reader does. When an overflow comes before the first content, as a
 * part or as the failure of the stream itself, `again` is asked for another stream, whose parts follow without a second
 * preamble; when it gives none, or fails, the overflow itself is passed on. A reader who leaves meanwhile aborts its signal.
 */
function spliceStream(
  source: StreamLike<StreamPart>,
  roleOf: (part: StreamPart) => Role,
  again: (signal: AbortSignal) => Promise<StreamLike<StreamPart> | undefined>,
): ReadableStream<StreamPart> {
  let reader = source.getReader();
  const left = new AbortController();
  const opened: StreamPart[] = [];
  let state: 'first' | 'second preamble' | 'through' = 'first';
  return new ReadableStream<StreamPart>(
    {
      async pull(controller) {
        for (;;) {
          const { done, value, failure } = await reader.read().then(
            (read) => ({ ...read, failure: undefined }),
            (error: unknown) => ({
              done: false,
              value: { type: 'error', error } as StreamPart,
              failure: { error },
            }),
          );
          if (done || value === undefined) return controller.close();
          const role = state === 'through' ? 'content' : roleOf(value);
          if (role === 'preamble' && state === 'second preamble') continue;
          if (role === 'overflow' && state === 'first') {
            const next = await again(left.signal).catch(() => undefined);
            if (left.signal.aborted) {
              next
                ?.getReader()
                .cancel()
                .catch(() => {});
              return;
            }
            if (next !== undefined) {
              reader.cancel().catch(() => {});
              reader = next.getReader();
              state = 'second preamble';
              for (const part of opened) controller.enqueue(closing(part));
              continue;
            }
          }
          if (failure !== undefined) throw failure.error;
          if (role === 'opening') opened.push(value);
          else if (role !== 'preamble') state = 'through';
          return controller.enqueue(value);
        }
      },
      cancel(reason) {
        left.abort(reason);
        return reader.cancel(reason);
      },
    },
    { highWaterMark: 0 },
  );
}

/** Ends what a part opened, without the metadata that names it to a provider: the answer that it was part of is gone. */
function closing(part: StreamPart): StreamPart {
  const { type, id } = part as unknown as { readonly type: string; readonly id: string };
  return { type: type.replace('-start', '-end'), id, providerMetadata: {} } as unknown as StreamPart;
}
