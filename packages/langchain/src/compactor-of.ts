import type { RunnableConfig } from '@langchain/core/runnables';
import { type CompactionSettings, createCompactor } from '@x/compaction';
import type { Compactor } from '@x/core';
import { fromChatModel } from './chat-model.js';
import type { ResolvedSettings } from './settings.js';
import { tokensOf } from './trigger.js';

/**
 * The compactor that LangChain's settings describe. The middleware decides when it runs; the compactor's own trigger, a
 * window that is nearly full, holds besides. A default of the compactor never contradicts a setting. As with LangChain a
 * summary stands for the user's words too, unless `compat` is off: in front of it they would reach a small trigger again.
 *
 * @param run Carries the run's metadata, tags and callbacks to the summarizer's call.
 */
export function compactorOf(settings: ResolvedSettings, run: RunnableConfig): Compactor {
  const { model, window, keep, summaryPrompt, trimTokensToSummarize, options } = settings;
  if (options.compactor !== undefined) return options.compactor;
  const { compaction = {} } = options;
  const kept =
    keep.messages === undefined
      ? { tokens: Math.min(tokensOf(keep, window) ?? 0, (window ?? Infinity) - 1) }
      : { messages: keep.messages };
  const config: CompactionSettings = {
    ...compaction,
    ...(model === undefined
      ? {}
      : { model: fromChatModel(model, { run, asText: options.compat !== false, trimTokensToSummarize }) }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(summaryPrompt ? { summary: { ...compaction.summary, prompt: summaryPrompt } } : {}),
    keep: { ...(options.compat === false ? {} : { users: 0 }), ...compaction.keep, ...kept },
  };
  return createCompactor(config);
}
