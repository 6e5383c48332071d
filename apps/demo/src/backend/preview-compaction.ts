import { createCompactor } from '@x/compaction';
import type { AgentState, ContextUsage, Model, TokenCounter } from '@x/core';
import type { CompactionPreview } from '../server/inspection.js';

interface PreviewOptions {
  readonly state: AgentState;
  readonly usage: ContextUsage | undefined;
  /** The settings as the page sent them; the compactor checks them. */
  readonly settings: Readonly<Record<string, unknown>>;
  /** Previews a compaction although none is due. */
  readonly force: boolean;
  readonly counter: TokenCounter;
  readonly contextWindow: number;
  /** The model that would write summaries; it is not called. */
  readonly model: Model | undefined;
}

/**
 * Previews a compaction with these settings. Calls no model and changes nothing.
 *
 * @throws {InvalidInputError} naming every setting that cannot be.
 */
export async function previewCompaction(options: PreviewOptions): Promise<CompactionPreview> {
  const { state, usage, settings, force, counter, contextWindow, model } = options;
  const compactor = createCompactor({ ...settings, counter, contextWindow, ...(model ? { model } : {}) });
  const frame = usage ? usage.system + usage.tools + usage.reminders : 0;
  const outcome = await compactor.plan(state.context, {
    reason: force ? 'manual' : 'proactive_budget',
    // In place of system prompt, tools and reminders: a text of as many tokens.
    ...(frame > 0 ? { system: ' a'.repeat(frame) } : {}),
  });
  const { status, reason, steps, tokensBefore, tokensAfter, messagesBefore, messagesAfter, manifest } =
    outcome;
  return { status, reason, steps, tokensBefore, tokensAfter, messagesBefore, messagesAfter, manifest };
}
