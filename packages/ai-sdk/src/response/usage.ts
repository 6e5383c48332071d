import type { Usage } from '@x/core';
import type { InputTokensLike, OutputTokensLike, UsageLike } from '../language-model.js';

/** The usage in our words; `undefined` where the provider did not say how many tokens went in. */
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
  // Zeros are what some providers make of a server that reports nothing while it streams.
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
