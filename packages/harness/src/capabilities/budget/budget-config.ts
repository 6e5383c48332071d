import { z } from 'zod';

const limitSchema = z.number().positive('must be greater than 0; leave it out for no limit').optional();
const priceSchema = z.strictObject({
  /** For a million input tokens. */
  input: z.number().min(0),
  /** For a million output tokens. */
  output: z.number().min(0),
  /** For a million input tokens read from the provider's cache. Default: the price of input. */
  cachedInput: z.number().min(0).optional(),
  /** For a million input tokens written to the provider's cache. Default: the price of input. */
  cacheWrite: z.number().min(0).optional(),
});

const LIMITS = ['maxTokensPerCall', 'maxTokensPerSession', 'maxCostPerCall', 'maxCostPerSession'] as const;

export const budgetConfigSchema = z
  .strictObject({
    /** Tokens, input and output together, cached ones included. */
    maxTokensPerCall: limitSchema,
    maxTokensPerSession: limitSchema,
    /** In the currency of `prices`. */
    maxCostPerCall: limitSchema,
    maxCostPerSession: limitSchema,
    /** By model id; `*` stands for every other model. */
    prices: z.record(z.string(), priceSchema).default({}),
  })
  .superRefine((config, context) => {
    if (LIMITS.every((name) => config[name] === undefined)) {
      context.addIssue({ code: 'custom', message: `needs a limit: ${LIMITS.join(', ')}` });
    }
    const costs = config.maxCostPerCall !== undefined || config.maxCostPerSession !== undefined;
    if (costs && Object.keys(config.prices).length === 0) {
      const message = 'is needed for a limit on cost: name each model and what a million of its tokens costs';
      context.addIssue({ code: 'custom', path: ['prices'], message });
    }
  });

export type BudgetConfig = z.input<typeof budgetConfigSchema>;
export type Limits = z.output<typeof budgetConfigSchema>;
export type Price = z.output<typeof priceSchema>;
