import {
  type AgentEventBody,
  type AgentState,
  type CallScope,
  type Capability,
  InvalidInputError,
  StopCallError,
  type Usage,
} from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { AnswerUsage } from '../../lib/answer-usage.js';
import { SessionCounters } from '../../lib/session-counters.js';

const EXTENSION = 'budget';
const MILLION = 1_000_000;

const priceSchema = z.strictObject({
  /** Price per million input tokens. */
  input: z.number().min(0),
  /** Price per million output tokens. */
  output: z.number().min(0),
  /** Price per million input tokens read from the provider's cache. Default: the price of input. */
  cachedInput: z.number().min(0).optional(),
  /** Price per million input tokens written to the provider's cache. Default: the price of input. */
  cacheWrite: z.number().min(0).optional(),
});

type Price = z.output<typeof priceSchema>;

/** Tokens and cost that were used. */
export interface Spending {
  /** Input and output tokens. */
  readonly tokens: number;
  /** Cost in the currency of the prices. Models without a price add 0. */
  readonly cost: number;
}

/**
 * Returns the spending of a session across all calls and processes. Returns 0 without the `budget` capability.
 *
 * @example
 * ```ts
 * const state = await agent.state(session);
 * if (state) console.log(spendingOf(state));
 * ```
 */
export function spendingOf(state: AgentState): Spending {
  return spendingIn((state.extensions[EXTENSION]?.counters ?? {}) as Readonly<Record<string, unknown>>);
}

function spendingIn({ tokens, cost }: Readonly<Record<string, unknown>>): Spending {
  return {
    tokens: typeof tokens === 'number' ? tokens : 0,
    cost: typeof cost === 'number' ? cost : 0,
  };
}

/** Computes the spending of one model call. `inputTokens` includes tokens read from and written to the cache. */
function spendingFor(usage: Usage, price: Price | undefined): Spending {
  // Capabilities report usage without validation. Ignore invalid counts, which could otherwise disable a limit.
  const of = (count = 0) => (count > 0 && count <= Number.MAX_SAFE_INTEGER ? count : 0);
  const [inputTokens, outputTokens] = [of(usage.inputTokens), of(usage.outputTokens)];
  const [cachedInputTokens, cacheWriteTokens] = [of(usage.cachedInputTokens), of(usage.cacheWriteTokens)];
  const tokens = inputTokens + outputTokens;
  if (price === undefined) return { tokens, cost: 0 };
  const plain = Math.max(0, inputTokens - cachedInputTokens - cacheWriteTokens);
  const cost =
    plain * price.input +
    cachedInputTokens * (price.cachedInput ?? price.input) +
    cacheWriteTokens * (price.cacheWrite ?? price.input) +
    outputTokens * price.output;
  return { tokens, cost: cost / MILLION };
}

const limitSchema = z.number().positive('must be greater than 0; leave it out for no limit').optional();

const LIMITS = ['maxTokensPerCall', 'maxTokensPerSession', 'maxCostPerCall', 'maxCostPerSession'] as const;

export const budgetConfigSchema = z
  .strictObject({
    /** Input and output tokens, including cached tokens. */
    maxTokensPerCall: limitSchema,
    maxTokensPerSession: limitSchema,
    /** In the currency of `prices`. */
    maxCostPerCall: limitSchema,
    maxCostPerSession: limitSchema,
    /** Prices by model id. `*` is the price of every other model. */
    prices: z.record(z.string(), priceSchema).default({}),
  })
  .superRefine((config, context) => {
    if (LIMITS.every((name) => config[name] === undefined)) {
      context.addIssue({ code: 'custom', message: `needs a limit: ${LIMITS.join(', ')}` });
    }
    const costs = config.maxCostPerCall !== undefined || config.maxCostPerSession !== undefined;
    if (costs && Object.keys(config.prices).length === 0) {
      const message = 'is required for a cost limit: give each model its price per million tokens';
      context.addIssue({ code: 'custom', path: ['prices'], message });
    }
  });

export type BudgetConfig = z.input<typeof budgetConfigSchema>;
type Limits = z.output<typeof budgetConfigSchema>;

/**
 * Limits the tokens and the cost of a call and of a session. The check runs before each model call, so a round of tools
 * is never interrupted. At the limit, the call ends with `budget_exceeded`; the last answer may exceed the limit.
 * Counts the usage that providers report, including compactions, and estimates it if a provider reports none or zeros.
 * A session's spending is kept in its state across calls and processes; a resumed call starts at 0.
 *
 * @example
 * ```ts
 * import { budget, HarnessAgent } from '@x/harness';
 *
 * const agent = HarnessAgent.builder()
 *   .model(model)
 *   .use(budget({ maxCostPerSession: 5, prices: { '*': { input: 1.25, output: 10 } } }))
 *   .build();
 * ```
 * @throws {InvalidInputError} for unknown keys, no limit at all, a limit of 0, or a cost limit without prices.
 */
export function budget(config: BudgetConfig): Capability {
  const limits = parseWith(budgetConfigSchema, config, 'budget configuration');
  const spending = new SessionCounters(EXTENSION);
  const answers = new AnswerUsage();
  const unpriced = new Set<string>();

  function check(scope: CallScope): void {
    const excess = findExcess(limits, spendingIn(spending.ofCall(scope.state)), spendingOf(scope.state));
    if (excess === undefined) return;
    scope.emit({ type: 'budget.exceeded', ...excess });
    throw new StopCallError(
      'budget_exceeded',
      `The ${excess.unit} budget of the ${excess.scope} is used up: ${excess.used} of ${excess.limit}.`,
    );
  }

  function addReported(event: AgentEventBody & { readonly type: 'usage.reported' }, scope: CallScope): void {
    const price = priceOf(limits, event.modelId);
    if (price === undefined && isCostLimited(limits) && !unpriced.has(event.modelId)) {
      unpriced.add(event.modelId);
      const message = `${event.modelId}, called by ${event.source}, has no price: its tokens are counted, but its cost is not.`;
      scope.emit({ type: 'warning', source: 'budget', message });
    }
    spending.add(scope, { ...spendingFor(event.usage, price) });
  }

  return {
    name: 'budget',
    priceOf(modelId, usage) {
      const price = priceOf(limits, modelId);
      return price && spendingFor(usage, price).cost;
    },
    observe(event, scope) {
      if (event.type === 'call.started') spending.begin(scope);
      if (event.type === 'usage.reported') addReported(event, scope);
      const usage = answers.of(event, scope.state);
      if (usage !== undefined)
        spending.add(scope, { ...spendingFor(usage, priceOf(limits, scope.model.id)) });
      if (event.type === 'call.completed' || event.type === 'call.failed') spending.end(scope.state);
    },
    async aroundReason(scope, next) {
      check(scope);
      return next();
    },
    async aroundModel(request, scope, next) {
      // Check again: a compaction may have used up the rest.
      check(scope);
      refuseUnpriced(limits, scope.model.id);
      return next(request);
    },
  };
}

function findExcess(limits: Limits, call: Spending, session: Spending) {
  const { maxTokensPerCall, maxTokensPerSession, maxCostPerCall, maxCostPerSession } = limits;
  const rows = [
    { scope: 'call', unit: 'tokens', used: call.tokens, limit: maxTokensPerCall },
    { scope: 'call', unit: 'cost', used: call.cost, limit: maxCostPerCall },
    { scope: 'session', unit: 'tokens', used: session.tokens, limit: maxTokensPerSession },
    { scope: 'session', unit: 'cost', used: session.cost, limit: maxCostPerSession },
  ] as const;
  for (const { limit, ...row } of rows) {
    if (limit !== undefined && row.used >= limit) return { ...row, limit };
  }
  return undefined;
}

function isCostLimited({ maxCostPerCall, maxCostPerSession }: Limits): boolean {
  return maxCostPerCall !== undefined || maxCostPerSession !== undefined;
}

function priceOf({ prices }: Limits, modelId: string): Price | undefined {
  return Object.hasOwn(prices, modelId) ? prices[modelId] : prices['*'];
}

/** Rejects a model without a price if cost is limited, because its cost cannot be counted. */
function refuseUnpriced(limits: Limits, modelId: string): void {
  if (!isCostLimited(limits) || priceOf(limits, modelId) !== undefined) return;
  const message = 'is missing, so the cost of a call cannot be limited; add the price per million tokens';
  throw new InvalidInputError('budget configuration', [{ path: `prices.${modelId}`, message }]);
}
