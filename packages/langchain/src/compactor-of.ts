import type { RunnableConfig } from '@langchain/core/runnables';
import { type CompactionSettings, createCompactor } from '@x/compaction';
import { DEFAULT_SUMMARY_PROMPT } from '@x/compaction/internal';
import type { Compactor } from '@x/core';
import { fromChatModel } from './chat-model.js';
import type { ResolvedSettings } from './settings.js';
import { type Due, tokensOf } from './trigger.js';

/** Below this many tokens a trigger point has no room for a summary beside what is kept. */
const LEAST_POINT = 2_000;
/** The window that the compactor assumes where none is known. */
const FALLBACK_WINDOW = 128_000;
/** Shares of a trigger point: a summary that a model writes, and the record under it. */
const NARRATIVE_SHARE = 0.25;
const RECORD_SHARE = 0.25;
const LONGEST_NARRATIVE = 4_000;

/**
 * The compactor that LangChain's settings describe. The middleware decides when it runs. A default of the compactor never
 * contradicts a setting. As with LangChain, `keep` holds as long as the window has room, so that the tokens of a trigger
 * limit the summary alone. And a summary stands for the user's words too: in front of it they would reach a small trigger again.
 * And what the model writes is the summary, whatever headings it has: those of the default prompt are asked for, not demanded.
 *
 * @param due Its number of messages makes the reduction due, so that `keep` is kept exactly.
 * @param run Carries the run's metadata, tags and callbacks to the summarizer's call.
 */
export function compactorOf(
  settings: ResolvedSettings,
  { kept, reached, room }: Due,
  run: RunnableConfig,
): Compactor {
  const { model, window, summaryPrompt, trimTokensToSummarize, options } = settings;
  if (options.compactor !== undefined) return options.compactor;
  const { compaction = {} } = options;
  const sizes = (settings.trigger ?? []).flatMap((size) => tokensOf(size, window) ?? []);
  const point = Math.min(Math.max(LEAST_POINT, Math.min(room ?? Infinity, ...sizes)), window ?? Infinity);
  const trigger = {
    ...compaction.trigger,
    ...(reached === undefined ? {} : { messages: reached }),
  };
  const most = Number.isFinite(point)
    ? {
        maxTokens: Math.min(LONGEST_NARRATIVE, Math.floor(point * NARRATIVE_SHARE)),
        record: Math.min(1, (point * RECORD_SHARE) / (window ?? FALLBACK_WINDOW)),
      }
    : {};
  const read = Math.floor(trimTokensToSummarize ?? 0);
  const config: CompactionSettings = {
    saving: false,
    ...compaction,
    ...(model === undefined ? {} : { model: fromChatModel(model, run) }),
    ...(window === undefined ? {} : { contextWindow: window }),
    ...(Object.keys(trigger).length > 0 ? { trigger } : {}),
    summary: {
      ...most,
      ...compaction.summary,
      prompt: summaryPrompt || (compaction.summary?.prompt ?? DEFAULT_SUMMARY_PROMPT),
      ...(read >= 1 ? { transcriptTokens: read } : {}),
    },
    keep: { users: 0, ...compaction.keep, messages: kept },
  };
  return createCompactor(config);
}
