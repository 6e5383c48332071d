import { parseWith } from '@x/core';
import type * as z from 'zod';
import { summarizeOptionsSchema } from '../config/stage-schemas.js';
import { type Reducer, unchanged } from '../reducer.js';
import { SummaryRun } from '../summary/summary-run.js';

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
