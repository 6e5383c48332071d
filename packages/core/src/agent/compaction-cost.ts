import * as z from 'zod';
import type { JsonValue } from '../lib/json.js';
import type { AgentState } from './agent-state.js';

/** The cost and the savings of compactions. */
export interface CompactionCost {
  /** Number of model calls that wrote summaries. */
  readonly modelCalls: number;
  /** Input tokens of these calls. */
  readonly inputTokens: number;
  readonly outputTokens: number;
  /** Cost of these calls, in the currency of the prices. `undefined` if there were none, or if the price of any is unknown. */
  readonly cost?: number | undefined;
  /** Input tokens that compactions saved in later requests, by the local counter. */
  readonly savedTokens: number;
}

/** Key in `AgentState.extensions` under which the compaction capability stores its counters and other data. */
const EXTENSION = 'compaction';

const count = z.number().default(0);
/** The schema of {@link CompactionCounters}. */
export const countersSchema = z.object({
  modelCalls: count,
  inputTokens: count,
  outputTokens: count,
  cost: count,
  /** Number of model calls whose price is unknown. */
  unpriced: count,
  savedTokens: count,
  /** Tokens that compactions remove from the next request. */
  removedTokens: count,
});

/** The stored counters. All are sums, so that the counters of two writers can be added up. */
export type CompactionCounters = z.output<typeof countersSchema>;

const NONE: CompactionCounters = Object.freeze(countersSchema.parse({}));

/** Returns the cost and savings of all compactions of a session, over all calls and processes. */
export function compactionCostOf(state: Pick<AgentState, 'extensions'>): CompactionCost {
  return costOf(compactionCounters(state.extensions));
}

/** Reads the counters from the extensions of a state. Without counters, all are zero. */
export function compactionCounters(extensions: JsonValue | undefined): CompactionCounters {
  const stored = (extensions as AgentState['extensions'] | undefined)?.[EXTENSION]?.counters;
  return stored === undefined ? NONE : (countersSchema.safeParse(stored).data ?? NONE);
}

/** Converts counters to a cost report. Missing counters are zero. */
export function costOf(counters: Partial<CompactionCounters>): CompactionCost {
  const { cost, unpriced, removedTokens: _, ...counts } = { ...NONE, ...counters };
  return unpriced === 0 && counts.modelCalls > 0 ? { ...counts, cost } : counts;
}
