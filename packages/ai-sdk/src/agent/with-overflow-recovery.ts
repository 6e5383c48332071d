import { type Compactor, isContextOverflow, parseWith } from '@x/core';
import type { AiSdkLanguageModel, CallOptions, StreamPart } from '../language-model.js';
import { rawFinishReason } from '../response/finish-reason.js';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { definitionsOf } from './definitions-of.js';
import { peekStream } from './peek-stream.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';

/** Parts before a stream's content. */
const PREAMBLE: readonly string[] = ['stream-start', 'response-metadata', 'raw', 'ping'];
const WINDOW_FULL = 'model_context_window_exceeded';

/**
 * The model with a second chance: when the provider says that a request does not fit the context window, the compactor
 * reduces the prompt and the request is made once more, for `doGenerate` and `doStream` alike. Later requests that begin
 * with the same conversation are sent reduced at once. When the compactor cannot help, or the second request fails too,
 * the provider's error is thrown as it is. A stream that has given content already is not begun again.
 *
 * @throws {InvalidInputError} for options that do not fit.
 */
export function withOverflowRecovery<Model extends AiSdkLanguageModel>(
  model: Model,
  compactor: Compactor,
  options: Omit<AgentCompactionOptions, 'system' | 'tools'> = {},
): Model {
  const { maxReductions, onCompaction, contextWindow } = parseWith(
    agentCompactionSchema.omit({ system: true, tools: true }),
    options,
    'withOverflowRecovery options',
  );
  const reductions = new Reductions(compactor, maxReductions);

  async function recovering<Result>(call: CallOptions, attempt: Attempt<Result>): Promise<Result> {
    const prompt = call.prompt as readonly SdkMessage[];
    const first = await attempt({ ...call, prompt: reductions.recall(prompt) });
    if (first.overflow === undefined) return first.result;
    const reduced = await reductions.reduce(prompt, {
      reason: 'request_too_large',
      tools: definitionsOf(call.tools),
      ...(contextWindow === undefined ? {} : { contextWindow }),
      ...(call.abortSignal === undefined ? {} : { signal: call.abortSignal }),
    });
    onCompaction?.(reduced.outcome);
    if (reduced.outcome.status !== 'applied') return first.fail();
    first.discard();
    const second = await attempt({ ...call, prompt: reduced.messages });
    return second.overflow === undefined ? second.result : second.fail();
  }

  return new Proxy(model, {
    get(target, property) {
      if (property === 'doGenerate') {
        return (call: CallOptions) => recovering(call, (next) => generate(target, next));
      }
      if (property === 'doStream') {
        return (call: CallOptions) => recovering(call, (next) => stream(target, next));
      }
      const value: unknown = Reflect.get(target, property, target);
      return typeof value === 'function' && property !== 'constructor' ? value.bind(target) : value;
    },
  });
}

type Attempt<Result> = (call: CallOptions) => Promise<
  | { readonly overflow: undefined; readonly result: Result }
  | {
      readonly overflow: true;
      /** What the attempt would have ended with by itself. */
      fail(): Result;
      /** Frees what is not read any more. */
      discard(): void;
    }
>;

async function generate(model: AiSdkLanguageModel, call: CallOptions): ReturnType<Attempt<unknown>> {
  try {
    const result = await model.doGenerate(call);
    const full = rawFinishReason(result.finishReason) === WINDOW_FULL;
    return full ? { overflow: true, fail: () => result, discard: () => {} } : { overflow: undefined, result };
  } catch (error) {
    return overflowOf(error);
  }
}

async function stream(model: AiSdkLanguageModel, call: CallOptions): ReturnType<Attempt<unknown>> {
  try {
    const result = await model.doStream(call);
    const peeked = await peekStream<StreamPart>(result.stream, ({ type }) => !PREAMBLE.includes(type));
    const answer = { ...result, stream: peeked.stream };
    const { found } = peeked;
    const failed = found?.type === 'error' && isContextOverflow(found.error);
    const full = found?.type === 'finish' && rawFinishReason(found.finishReason) === WINDOW_FULL;
    if (!failed && !full) return { overflow: undefined, result: answer };
    return {
      overflow: true,
      fail: () => answer,
      discard: () => void peeked.stream.cancel().catch(() => {}),
    };
  } catch (error) {
    return overflowOf(error);
  }
}

function overflowOf(error: unknown): { readonly overflow: true; fail(): never; discard(): void } {
  if (!isContextOverflow(error)) throw error;
  return {
    overflow: true,
    fail() {
      throw error;
    },
    discard() {},
  };
}
