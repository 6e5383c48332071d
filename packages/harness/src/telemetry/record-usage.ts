import type { Attributes } from '@opentelemetry/api';
import type { Usage } from '@x/core';
import { ATTRIBUTE } from './conventions.js';
import type { Instruments } from './instruments.js';

/** Usage as attributes of a span. What the provider did not report is left out. */
export function usageAttributes(usage: Usage | undefined): Attributes {
  if (usage === undefined) return {};
  const { cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  return {
    [ATTRIBUTE.inputTokens]: usage.inputTokens,
    [ATTRIBUTE.outputTokens]: usage.outputTokens,
    ...(cachedInputTokens === undefined ? {} : { [ATTRIBUTE.cacheReadTokens]: cachedInputTokens }),
    ...(cacheWriteTokens === undefined
      ? {}
      : {
          [ATTRIBUTE.cacheWriteTokens]: cacheWriteTokens,
          [ATTRIBUTE.cacheCreationTokens]: cacheWriteTokens,
        }),
    ...(reasoningTokens === undefined ? {} : { [ATTRIBUTE.reasoningTokens]: reasoningTokens }),
  };
}

/** Counts the tokens of one model call. */
export function recordUsage(instruments: Instruments, usage: Usage, attributes: Attributes): void {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  // Providers say what was text and what an image for hardly any of these.
  const counted = { ...attributes, [ATTRIBUTE.tokenModality]: 'unknown' };
  instruments.inputTokens.add(inputTokens, counted);
  instruments.outputTokens.add(outputTokens, counted);
  if (cachedInputTokens !== undefined) {
    instruments.cacheReadTokens.add(cachedInputTokens, counted);
    if (inputTokens > 0) instruments.cacheShare.record(cachedInputTokens / inputTokens, attributes);
  }
  if (cacheWriteTokens !== undefined) instruments.cacheWriteTokens.add(cacheWriteTokens, counted);
  if (reasoningTokens !== undefined) instruments.reasoningTokens.add(reasoningTokens, counted);
  instruments.tokenUsage.record(inputTokens, { ...attributes, [ATTRIBUTE.tokenType]: 'input' });
  instruments.tokenUsage.record(outputTokens, { ...attributes, [ATTRIBUTE.tokenType]: 'output' });
}
