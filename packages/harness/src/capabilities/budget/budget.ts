import {
  type AgentEventBody,
  type CallScope,
  type Capability,
  countMessage,
  estimateCounter,
  InvalidInputError,
  parseWith,
  StopCallError,
  type Usage,
} from '@x/core';
import * as z from 'zod';
import {
  type Price,
  priceSchema,
  SessionSpending,
  type Spending,
  spendingFor,
  spendingOf,
} from './spending.js';

const limitSchema = z.number().positive('must be greater than 0; leave it out for no limit').optional();

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
type Limits = z.output<typeof budgetConfigSchema>;

/**
 * Limits the tokens and the cost of a call and of a session. Checks before each model call, so that a round of tools is never
 * cut in half: at a limit the call ends with `budget_exceeded`, and one answer may overrun the limit. Counts the usage that
 * providers report (an estimate where one reports nothing, or zeros), compactions included. A session's spending is in its state, over
 * calls and processes; a resumed call begins anew.
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
 * @throws {InvalidInputError} naming every unknown key; without any limit; for a limit of 0, and a cost without prices.
 */
export function budget(config: BudgetConfig): Capability {
  const limits = parseWith(budgetConfigSchema, config, 'budget configuration');
  const spending = new SessionSpending();
  /** Tokens of the request under way, by call: what is counted when the provider reports nothing. */
  const requested = new Map<string, number>();
  const unpriced = new Set<string>();

  function check(scope: CallScope): void {
    const excess = findExcess(limits, spending.ofCall(scope), spendingOf(scope.state));
    if (excess === undefined) return;
    scope.emit({ type: 'budget.exceeded', ...excess });
    throw new StopCallError(
      'budget_exceeded',
      `The ${excess.unit} budget of the ${excess.scope} is used up: ${excess.used} of ${excess.limit}.`,
    );
  }

  /** Answers the usage of a call whose provider reported none. */
  function estimated(event: AgentEventBody & { readonly type: 'model.completed' }, callId: string): Usage {
    const outputTokens = countMessage(estimateCounter, event.message);
    return { inputTokens: requested.get(callId) ?? 0, outputTokens };
  }

  function addReported(event: AgentEventBody & { readonly type: 'usage.reported' }, scope: CallScope): void {
    const price = priceOf(limits, event.modelId);
    if (price === undefined && isCostLimited(limits) && !unpriced.has(event.modelId)) {
      unpriced.add(event.modelId);
      const message = `${event.modelId}, called by ${event.source}, has no price: its tokens count, its cost does not.`;
      scope.emit({ type: 'warning', source: 'budget', message });
    }
    spending.add(scope, spendingFor(event.usage, price));
  }

  return {
    name: 'budget',
    observe(event, scope) {
      const { callId } = scope;
      if (event.type === 'call.started') spending.begin(scope);
      else if (event.type === 'model.started') requested.set(callId, event.context.total);
      else if (event.type === 'usage.reported') addReported(event, scope);
      else if (event.type === 'model.completed') {
        const usage = event.usage ?? estimated(event, callId);
        spending.add(scope, spendingFor(usage, priceOf(limits, scope.model.id)));
      } else if (event.type === 'call.completed' || event.type === 'call.failed') {
        requested.delete(callId);
        spending.end(scope);
      }
    },
    async aroundReason(scope, next) {
      check(scope);
      return next();
    },
    async aroundModel(request, scope, next) {
      // Once more: a compaction may have used up the rest.
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

/** Refuses a model without a price when cost is limited: its cost could not be counted. */
function refuseUnpriced(limits: Limits, modelId: string): void {
  if (!isCostLimited(limits) || priceOf(limits, modelId) !== undefined) return;
  const message =
    'is missing, so the cost of a call cannot be limited; add what a million of its tokens costs';
  throw new InvalidInputError('budget configuration', [{ path: `prices.${modelId}`, message }]);
}
