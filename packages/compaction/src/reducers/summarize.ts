import { parseWith } from '@x/core';
import type * as z from 'zod';
import { summarizeOptionsSchema } from '../config/stage-schemas.js';
import type { Reducer } from '../reducer.js';
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
