import * as z from 'zod';
import type { JsonValue } from '../lib/json.js';
import type { AgentState } from './agent-state.js';

/** What compactions have cost, and what they have saved. */
export interface CompactionCost {
  /** Calls of models that wrote summaries. */
  readonly modelCalls: number;
  /** Tokens of these calls. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** In the currency of the prices; left out unless the price of each call is known. */
  readonly cost?: number | undefined;
  /** Input tokens that requests would have had on top if everything had been sent, by our own count. */
  readonly savedTokens: number;
}

/** The extension of the capability that compacts; its other notes stay as they are. */
const EXTENSION = 'compaction';

const count = z.number().default(0);
/** The schema of {@link CompactionCounters}. */
export const countersSchema = z.object({
  modelCalls: count,
  inputTokens: count,
  outputTokens: count,
  cost: count,
  /** Model calls whose price is not known. */
  unpriced: count,
  savedTokens: count,
  /** Tokens that compactions keep out of the next request. */
  removedTokens: count,
});

/** The numbers that are kept in a state: sums, so that those of two writers add up. */
export type CompactionCounters = z.output<typeof countersSchema>;

/** Returns what the compactions of a session have cost and saved, over all its calls and processes. */
export function compactionCostOf(state: Pick<AgentState, 'extensions'>): CompactionCost {
  return costOf(compactionCounters(state.extensions));
}

/** Reads the counters in the extensions of a state; zeros if there are none. */
export function compactionCounters(extensions: JsonValue | undefined): CompactionCounters {
  const stored = (extensions as AgentState['extensions'] | undefined)?.[EXTENSION]?.counters;
  return countersSchema.safeParse(stored ?? {}).data ?? countersSchema.parse({});
}

/** What counters say to a person. */
export function costOf({ cost, unpriced, removedTokens: _, ...counts }: CompactionCounters): CompactionCost {
  return unpriced === 0 && counts.modelCalls > 0 ? { ...counts, cost } : counts;
}

/** Adds to the counters of a session. */
export function addCompactionCost(state: AgentState, more: Partial<CompactionCounters>): void {
  const counters = sumOfCounters(compactionCounters(state.extensions), more);
  state.extensions[EXTENSION] = { ...state.extensions[EXTENSION], counters };
}

/** Adds up counters. */
export function sumOfCounters(
  counters: CompactionCounters,
  more: Partial<CompactionCounters>,
): CompactionCounters {
  const sums = Object.entries(counters).map(([name, number]) => [
    name,
    number + (more[name as keyof CompactionCounters] ?? 0),
  ]);
  return Object.fromEntries(sums) as CompactionCounters;
}
