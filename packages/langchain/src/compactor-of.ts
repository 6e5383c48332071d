import type { RunnableConfig } from '@langchain/core/runnables';
import type { CompactionSettings } from '@x/compaction';
import { compactorWith, DEFAULT_SUMMARY_PROMPT, type NarrativeDesks } from '@x/compaction/internal';
import type { Compactor } from '@x/core';
import { fromChatModel } from './chat-model.js';
import type { ResolvedSettings } from './settings.js';
import { type Due, tokensOf } from './trigger.js';

/** Minimum trigger point, in tokens. A smaller one has no room for a summary next to the kept messages. */
const LEAST_POINT = 2_000;
/** The window that the compactor assumes if none is known. */
const FALLBACK_WINDOW = 128_000;
/** Shares of a trigger point for the model's summary and for the record after it. */
const NARRATIVE_SHARE = 0.25;
const RECORD_SHARE = 0.25;
/** Maximum tokens of the model's summary. */
const LONGEST_NARRATIVE = 4_000;

/**
 * Creates the compactor for LangChain's settings. The middleware decides when it runs. The compactor's defaults are adapted, so that they
 * never contradict a setting. As in LangChain:
 *
 * - `keep` applies as long as the window has room, so the tokens of a trigger only limit the summary.
 * - The summary also replaces the user's requests. In front of the summary, they would reach a small trigger again.
 * - Any text of the model is accepted as the summary, even without the headings of the default prompt.
 *
 * @param due Its `reached` becomes the compactor's trigger, and its `kept` the number of messages to keep.
 * @param desks The narratives that earlier compactors of the middleware began.
 * @param run Carries the run's metadata, tags and callbacks to the summarizer's call.
 */
export function compactorOf(
  settings: ResolvedSettings,
  { kept, reached, room }: Due,
  desks: NarrativeDesks,
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
  return compactorWith(config, desks);
}
