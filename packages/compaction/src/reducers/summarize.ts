import { parseWith } from '@x/core';
import type { z } from 'zod';
import { summarizeOptionsSchema } from '../config/stage-schemas.js';
import type { Reducer } from '../reducer.js';
import { SummaryRun } from '../summary/summary-run.js';

/**
 * Replaces the older part of a conversation by a summary: a narrative that a model writes, followed by a ledger of facts
 * that is extracted mechanically. Without a model, or when the model fails, the ledger alone is the summary. Keeps the
 * newest `keepMessages` 20, fewer where they leave no room, and always the latest user request and open calls.
 */
export function summarize(options: z.input<typeof summarizeOptionsSchema> = {}): Reducer {
  const settings = parseWith(summarizeOptionsSchema, options, 'summarize options');
  return {
    name: 'summarization',
    cost: 'llm',
    worksInDryRun: true,
    reduce: (view, budget, context) => new SummaryRun(settings, view, budget, context).run(),
  };
}
