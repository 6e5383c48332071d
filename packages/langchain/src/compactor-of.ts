import type { RunnableConfig } from '@langchain/core/runnables';
import { type CompactionSettings, createCompactor, DEFAULT_SUMMARY_PROMPT } from '@x/compaction';
import type { Compactor } from '@x/core';
import { fromChatModel } from './chat-model.js';
import type { ResolvedSettings } from './settings.js';
import { type Due, tokensOf } from './trigger.js';

/** Below this many tokens a trigger point has no room for a summary beside what is kept. */
const LEAST_POINT = 2_000;

/**
 * The compactor that LangChain's settings describe. The middleware decides when it runs; tokens that it runs at are the
 * compactor's trigger point. A default of the compactor never contradicts a setting. As with LangChain a
 * summary stands for the user's words too, unless `compat` is off: in front of it they would reach a small trigger again.
 * And what the model writes is the summary, whatever headings it has: those of the default prompt are asked for, not demanded.
 *
 * @param due Its number of messages makes the reduction due, so that `keep` is kept exactly.
 * @param run Carries the run's metadata, tags and callbacks to the summarizer's call.
 */
export function compactorOf(
  settings: ResolvedSettings,
  { kept, reached }: Due,
  run: RunnableConfig,
): Compactor {
  const { model, window, summaryPrompt, trimTokensToSummarize, options } = settings;
  if (options.compactor !== undefined) return options.compactor;
  const { compaction = {} } = options;
  const sizes = (settings.trigger ?? []).flatMap((size) => tokensOf(size, window) ?? []);
  // A reduction that leaves no less than what makes one due would be followed by the next one at once.
  const point = Math.min(Math.max(LEAST_POINT, Math.min(...sizes)), window ?? Infinity);
  const trigger = {
    ...(sizes.length > 0 ? { tokens: point } : compaction.trigger),
    ...(reached === undefined ? {} : { messages: reached }),
  };
  const isCompat = options.compat !== false;
  const read = Math.floor(trimTokensToSummarize ?? 0);
  const prompt =
    summaryPrompt || (isCompat ? (compaction.summary?.prompt ?? DEFAULT_SUMMARY_PROMPT) : undefined);
  const config: CompactionSettings = {
    ...(isCompat ? { saving: false } : {}),
    ...compaction,
    ...(model === undefined ? {} : { model: fromChatModel(model, { run, asText: isCompat }) }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(Object.keys(trigger).length > 0 ? { trigger } : {}),
    summary: {
      ...compaction.summary,
      ...(prompt ? { prompt } : {}),
      ...(read >= 1 ? { transcriptTokens: read } : {}),
    },
    keep: { ...(isCompat ? { users: 0 } : {}), ...compaction.keep, messages: kept },
  };
  return createCompactor(config);
}
