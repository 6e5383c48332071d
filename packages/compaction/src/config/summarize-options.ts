import { z } from 'zod';
import { count, summaryOptionsSchema } from './stage-schemas.js';

export const summarizeOptionsSchema = summaryOptionsSchema.extend({
  /** Messages that stay as they are. */
  keepMessages: count.default(20),
  /** When not 0: tokens that stay as they are, in place of `keepMessages`. */
  keepTokens: count.default(0),
  /** The conversation must fall by this share … */
  minSavingPercent: z.number().min(0).max(1).default(0.05),
  /** … and by this many tokens. */
  minSavingTokens: count.default(16),
});

export type SummarizeOptions = z.output<typeof summarizeOptionsSchema>;
