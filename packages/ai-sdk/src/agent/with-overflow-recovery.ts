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
  type StreamPart,
} from '../language-model.js';
import { rawFinishReason } from '../response/finish-reason.js';
import { type AgentCompactionOptions, agentCompactionSchema } from './agent-options.js';
import { openedStream } from './opened-stream.js';
import { Reductions } from './reductions.js';
import type { SdkMessage } from './sdk-message.js';

/** Parts before a stream's content. */
const PREAMBLE: readonly string[] = ['stream-start', 'response-metadata', 'raw', 'ping'];
const WINDOW_FULL = 'model_context_window_exceeded';

/**
 * The model with a second chance: when the provider says that a request does not fit the context window, the compactor
 * reduces the prompt and the request is made once more, for `doGenerate` and `doStream` alike. Later requests that begin
 * with the same conversation are sent reduced at once. When the compactor cannot help or fails, the provider's error is
 * passed on as it came; so is that of the second request, which the SDK repeats where it may. A stream is handed over with
 * its first content: one that overflows before is that of the second request, with its metadata; one that has given
 * content already is not begun again. The signal of the call ends the compaction, too.
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

  /** The answer to a call, or to the second one where the first has no room. */
  async function recovered<Answer>(
    call: CallOptions,
    ask: (call: CallOptions) => PromiseLike<Answer>,
    open: (answer: Answer) => Promise<{ readonly answer: Answer; readonly isFull: boolean }>,
  ): Promise<Answer> {
    let failure: () => Answer;
    try {
      const prompt = reductions.recall(call.prompt as readonly SdkMessage[]);
      const { answer, isFull } = await open(await ask({ ...call, prompt }));
      if (!isFull) return answer;
      failure = () => answer;
    } catch (error) {
      if (!isContextOverflow(error)) throw error;
      failure = () => {
        throw error;
      };
    }
    const second = await reduced(call);
    return second === undefined ? failure() : ask(second);
  }

  const doGenerate = (call: CallOptions) =>
    recovered<GenerateResult>(
      call,
      (asked) => model.doGenerate(asked),
      async (answer) => ({ answer, isFull: isFull(answer) }),
    );

  const doStream = (call: CallOptions) =>
    recovered<Awaited<ReturnType<AiSdkLanguageModel['doStream']>>>(
      call,
      (asked) => model.doStream(asked),
      async (answer) => {
        if (answer?.stream === undefined) return { answer, isFull: false };
        const { first, stream } = await openedStream(answer.stream, ({ type }) => PREAMBLE.includes(type));
        return { answer: { ...answer, stream }, isFull: first !== undefined && isOverflow(first) };
      },
    );

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

function isOverflow(part: StreamPart): boolean {
  return part.type === 'error' ? isContextOverflow(part.error) : part.type === 'finish' && isFull(part);
}
