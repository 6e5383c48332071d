import { ContextOverflowError, type ModelResponse } from '@x/core';
import type {
  ContentPart,
  FinishReasonLike,
  ProviderData,
  ResponseMetadata,
  UsageLike,
} from '../language-model.js';
import { rawFinishReason, toFinishReason } from './finish-reason.js';
import { metadataOf, toBlocks } from './to-blocks.js';
import { toUsage } from './usage.js';

/** A full window leaves a few tokens that no answer fits in. */
const FULL = 0.99;

/**
 * A finished answer in our words.
 *
 * @throws {ContextOverflowError} when the window ran full although the provider reported no error.
 */
export function toResponse(
  result: {
    readonly content: readonly ContentPart[];
    readonly finishReason: FinishReasonLike;
    readonly usage: UsageLike;
    readonly providerMetadata?: ProviderData | undefined;
    readonly response?: ResponseMetadata | undefined;
  },
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
 * Some providers accept what does not fit: they cut the input, or stop where the window ends. Such an answer was given
 * without the whole conversation, so it does not count.
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
