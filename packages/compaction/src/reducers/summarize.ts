import { parseWith } from '@x/core';
import type { z } from 'zod';
import { summarizeOptionsSchema } from '../config/stage-schemas.js';
import type { Reducer } from '../reducer.js';
import { SummaryRun } from '../summary/summary-run.js';

/**
 * Replaces the older part of a conversation by a summary: a narrative that a model writes, followed by a record that is
 * made mechanically. Without a model, or when the model fails, the record alone is the summary. Leaves what `keep` says as it
 * is, less where it leaves no room, and always the latest user request and open calls.
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
