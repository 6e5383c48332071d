import type { RunnableConfig } from '@langchain/core/runnables';
import { type CompactionConfig, createCompactor } from '@x/compaction';
import type { Compactor } from '@x/core';
import { fromChatModel } from './chat-model.js';
import type { ResolvedSettings } from './settings.js';
import { tokensOf } from './trigger.js';

/**
 * The compactor that LangChain's settings describe. The middleware decides when it runs, unless no trigger is given and
 * `compat` is off: then the compactor's own triggers hold. A default of the compactor never contradicts a setting.
 *
 * @param run Carries the run's metadata, tags and callbacks to the summarizer's call.
 */
export function compactorOf(settings: ResolvedSettings, run: RunnableConfig): Compactor {
  const { model, window, keep, trigger, summaryPrompt, trimTokensToSummarize, options } = settings;
  if (options.compactor !== undefined) return options.compactor;
  const keepTokens = keep.messages === undefined ? tokensOf(keep, window) : undefined;
  const config: CompactionConfig = {
    // Off: the middleware asks when a condition of the user's is met.
    ...(trigger === undefined && options.compat === false ? {} : { triggerMessages: 0, triggerTokens: 0 }),
    ...options.compaction,
    ...(model === undefined
      ? {}
      : { model: fromChatModel(model, { run, asText: options.compat !== false, trimTokensToSummarize }) }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(summaryPrompt ? { summaryPrompt } : {}),
    ...(keep.messages === undefined ? {} : { keepMessages: keep.messages }),
    ...(keepTokens === undefined ? {} : { keepTokens: Math.max(1, keepTokens) }),
  };
  return createCompactor(config);
}
