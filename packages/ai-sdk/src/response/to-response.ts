import { ContextOverflowError, type FinishReason, type ModelResponse, type Usage } from '@x/core';
import type {
  FinishReasonLike,
  GenerateResult,
  InputTokensLike,
  OutputTokensLike,
  UsageLike,
} from '../language-model.js';
import { metadataOf, toBlocks } from './to-blocks.js';

/** Share of the context window from which on it counts as full. The few remaining tokens are too few for an answer. */
const FULL = 0.99;

/**
 * Converts a complete answer.
 *
 * @throws {ContextOverflowError} if the context window is full, although the provider reported no error.
 */
export function toResponse(
  result: Omit<GenerateResult, 'warnings'>,
  model: { readonly id: string; readonly provider: string; readonly contextWindow: number | undefined },
): ModelResponse {
  const content = toBlocks(result.content, model.provider);
  const callsTool = content.some((block) => block.type === 'tool_use');
  const usage = toUsage(result.usage);
  const { id, modelId } = result.response ?? {};
  const response: ModelResponse = {
    content,
    finishReason: toFinishReason(result.finishReason, callsTool),
    ...(usage === undefined ? {} : { usage }),
    ...metadataOf(result),
    ...(id === undefined ? {} : { id }),
    ...(modelId === undefined ? {} : { model: modelId }),
  };
  refuseOverflow(response, rawFinishReason(result.finishReason), model);
  return response;
}

/**
 * Rejects an answer to a request that is larger than the context window. Some providers accept such a request: they truncate it, or end
 * the answer where the window ends. The model then did not read the whole conversation, or could not answer.
 *
 * @throws {ContextOverflowError} in these cases.
 */
function refuseOverflow(
  { content, finishReason, usage }: ModelResponse,
  raw: string | undefined,
  model: { readonly id: string; readonly contextWindow: number | undefined },
): void {
  const { id: modelId, contextWindow } = model;
  const inputTokens = usage?.inputTokens;
  const known = contextWindow !== undefined && inputTokens !== undefined;
  const tooLarge = known && inputTokens > contextWindow;
  const noRoom =
    known && finishReason === 'length' && content.length === 0 && inputTokens >= contextWindow * FULL;
  if (raw !== 'model_context_window_exceeded' && !tooLarge && !noRoom) return;
  throw new ContextOverflowError(
    `The conversation filled the context window of ${modelId} before an answer was complete. Compact it or use a larger window.`,
    {
      modelId,
      ...(inputTokens === undefined ? {} : { inputTokens }),
      ...(contextWindow === undefined ? {} : { contextWindow }),
    },
  );
}

const KNOWN: readonly FinishReason[] = ['stop', 'tool-calls', 'length', 'content-filter', 'error'];

/** Converts a finish reason. Some servers report `stop` together with a tool call, which then counts as `tool-calls`. */
function toFinishReason(reason: FinishReasonLike, callsTool: boolean): FinishReason {
  if (rawFinishReason(reason) === 'refusal') return 'refusal';
  const unified = typeof reason === 'string' ? reason : reason.unified;
  const known = KNOWN.find((each) => each === unified) ?? 'other';
  return callsTool && (known === 'stop' || known === 'other') ? 'tool-calls' : known;
}

/** Returns the provider's own finish reason, if the SDK has it. */
export function rawFinishReason(reason: FinishReasonLike): string | undefined {
  return typeof reason === 'string' ? undefined : reason.raw;
}

/** Tests if the provider gave no reason. Some packages of the AI SDK report this if the connection ended before the answer did. */
export function hasNoReason(reason: FinishReasonLike): boolean {
  return typeof reason !== 'string' && reason.unified === 'other' && reason.raw === undefined;
}

/** Converts the usage. Returns `undefined` if the provider did not report the input tokens. */
export function toUsage(usage: UsageLike): Usage | undefined {
  const input: InputTokensLike =
    typeof usage.inputTokens === 'object'
      ? usage.inputTokens
      : { total: usage.inputTokens, cacheRead: usage.cachedInputTokens };
  const output: OutputTokensLike =
    typeof usage.outputTokens === 'object'
      ? usage.outputTokens
      : { total: usage.outputTokens, reasoning: usage.reasoningTokens };
  const inputTokens = input.total ?? sum(input.noCache, input.cacheRead, input.cacheWrite);
  const outputTokens = output.total ?? sum(output.text, output.reasoning) ?? 0;
  // If a server reports no usage in a stream, some providers return zeros.
  if (inputTokens === undefined || (inputTokens === 0 && outputTokens === 0)) return undefined;
  return {
    inputTokens,
    outputTokens,
    ...(input.cacheRead === undefined ? {} : { cachedInputTokens: input.cacheRead }),
    ...(input.cacheWrite === undefined ? {} : { cacheWriteTokens: input.cacheWrite }),
    ...(output.reasoning === undefined ? {} : { reasoningTokens: output.reasoning }),
  };
}

function sum(...counts: readonly (number | undefined)[]): number | undefined {
  return counts.reduce((left, right) => (left === undefined ? right : left + (right ?? 0)), undefined);
}
