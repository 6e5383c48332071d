import { parseWith } from '@x/core/internal';
import type * as z from 'zod';
import { type Reducer, unchanged } from '../reducer.js';
import { summarizeOptionsSchema } from '../summary/options.js';
import { SummaryRun } from '../summary/summary-run.js';

/**
 * Replaces the older part of a conversation by a summary: a narrative that a model writes, followed by a mechanical
 * record. Without a model, or when the model fails, the record alone is the summary. The newest messages stay verbatim as
 * `keep` says, fewer where they leave no room. The latest user request and open calls always stay.
 */
export function summarize(options: z.input<typeof summarizeOptionsSchema> = {}): Reducer {
  const settings = parseWith(summarizeOptionsSchema, options, 'summarize options');
  return {
    name: 'summarize',
    cost: 'llm',
    worksInDryRun: true,
    reduce: (view, budget, context) => new SummaryRun(settings, view, budget, context).run(),
  };
}

/**
 * Has the provider condense the older part with its own endpoint, where the model offers `compact`. Its answer is kept
 * byte for byte beside the record of {@link summarize}, which everybody reads who cannot read the provider's. Used only when it
 * saves enough. A failure of the provider leaves the conversation as it was.
 */
export function nativeCompaction(options: z.input<typeof summarizeOptionsSchema> = {}): Reducer {
  const settings = parseWith(summarizeOptionsSchema, options, 'nativeCompaction options');
  return {
    name: 'native',
    cost: 'llm',
    reduce: async (view, budget, context) =>
      context.model?.compact
        ? new SummaryRun(settings, view, budget, { ...context, summarizer: undefined }).runNative()
        : unchanged(view, 'the model offers no compaction of its own'),
  };
}
