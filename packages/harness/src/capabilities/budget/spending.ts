import type { AgentState, CallScope, Usage } from '@x/core';
import * as z from 'zod';

const EXTENSION = 'budget';
const MILLION = 1_000_000;

export const priceSchema = z.strictObject({
  /** For a million input tokens. */
  input: z.number().min(0),
  /** For a million output tokens. */
  output: z.number().min(0),
  /** For a million input tokens read from the provider's cache. Default: the price of input. */
  cachedInput: z.number().min(0).optional(),
  /** For a million input tokens written to the provider's cache. Default: the price of input. */
  cacheWrite: z.number().min(0).optional(),
});
export type Price = z.output<typeof priceSchema>;

/** Tokens and cost used up. */
export interface Spending {
  /** Input and output together. */
  readonly tokens: number;
  /** In the currency of the prices; 0 for models that have none. */
  readonly cost: number;
}

const NOTHING: Spending = { tokens: 0, cost: 0 };

function plus(left: Spending, right: Spending): Spending {
  return { tokens: left.tokens + right.tokens, cost: left.cost + right.cost };
}

/** Returns the spending of a session over all its calls and processes: 0 without the `budget` capability. */
export function spendingOf(state: AgentState): Spending {
  const { counters } = state.extensions[EXTENSION] ?? {};
  const { tokens, cost } = (counters ?? {}) as Readonly<Record<string, unknown>>;
  return {
    tokens: typeof tokens === 'number' ? tokens : 0,
    cost: typeof cost === 'number' ? cost : 0,
  };
}

/** Adds to what the session has used up. */
function spend(state: AgentState, spent: Spending): void {
  // Counters: of two writers whose turns are merged, neither's spending is lost.
  state.extensions[EXTENSION] = { counters: { ...plus(spendingOf(state), spent) } };
}

/** Computes the spending of one model call. `inputTokens` includes tokens read from and written to the cache. */
export function spendingFor(usage: Usage, price: Price | undefined): Spending {
  // Usage that capabilities report has passed nothing: what is no count must not undo a limit.
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

/** Ended calls and sessions that are remembered for what is reported late. */
const MAX_REMEMBERED = 1_000;

/**
 * Keeps account of running calls, and of their sessions in their state. What is reported when a call has ended, by work
 * in the background, is added to its session when that is called next.
 */
export class SessionSpending {
  readonly #running = new Map<string, Spending>();
  readonly #ended = new Set<string>();
  readonly #late = new Map<string, Spending>();

  begin(scope: CallScope): void {
    this.#running.set(scope.callId, NOTHING);
    const session = sessionOf(scope);
    const late = this.#late.get(session);
    if (late === undefined) return;
    this.#late.delete(session);
    spend(scope.state, late);
  }

  end({ callId }: CallScope): void {
    this.#running.delete(callId);
    this.#ended.add(callId);
    forgetOldest(this.#ended);
  }

  add(scope: CallScope, spent: Spending): void {
    const { callId } = scope;
    if (this.#ended.has(callId)) {
      const session = sessionOf(scope);
      this.#late.set(session, plus(this.#late.get(session) ?? NOTHING, spent));
      forgetOldest(this.#late);
      return;
    }
    spend(scope.state, spent);
    const running = this.#running.get(callId);
    if (running !== undefined) this.#running.set(callId, plus(running, spent));
  }

  /** Returns the spending of the call so far. */
  ofCall({ callId }: CallScope): Spending {
    return this.#running.get(callId) ?? NOTHING;
  }
}

function sessionOf({ agentId, state }: CallScope): string {
  return JSON.stringify([agentId, state.tenantId, state.userId, state.sessionId]);
}

function forgetOldest(remembered: Map<string, unknown> | Set<string>): void {
  if (remembered.size <= MAX_REMEMBERED) return;
  for (const oldest of remembered.keys()) {
    remembered.delete(oldest);
    return;
  }
}
