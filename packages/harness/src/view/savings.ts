import type { AgentEvent, CompactionCost } from '@x/core';
import { shortNumber } from './printable.js';

/** What compaction saved in a session so far, in tokens of requests. */
export interface Savings {
  /** Requests to the model. */
  readonly requests: number;
  /** Tokens of all requests as they were sent, and of the model calls that compaction made itself. */
  readonly sent: number;
  /** Tokens that the same requests would have had if nothing had been removed. */
  readonly unreduced: number;
  /** The first request, from 1, that would have been larger than the window. */
  readonly overFrom?: number | undefined;
  /** Requests that were larger than the window nevertheless. */
  readonly over: number;
  /** Compactions that stand. */
  readonly compactions: number;
}

/** The events that {@link savingsOf} reads; it ignores all others. */
type Counted = { readonly type: AgentEvent['type'] };

/**
 * Counts what compaction saved, from the events of a session, oldest first. A request would have been as large as it was, plus what
 * the compactions before it removed (`tokensBefore - tokensAfter`) and nobody undid. The steps are taken to be the same: what a
 * model would have done in a fuller window is not known.
 *
 * @param events The events of all calls of a session.
 */
export function savingsOf(events: Iterable<Counted>): Savings {
  const removed: number[] = [];
  const total = { requests: 0, sent: 0, unreduced: 0, over: 0 };
  let overFrom: number | undefined;
  for (const event of events as Iterable<AgentEvent>) {
    if (event.type === 'context.compacted' && event.status === 'applied')
      removed.push(event.tokensBefore - event.tokensAfter);
    // A narrative that came late belongs to the last compaction, and goes with it.
    if (event.type === 'context.narrated') removed.push((removed.pop() ?? 0) - event.tokens);
    if (event.type === 'context.restored') removed.pop();
    if (event.type === 'usage.reported' && event.source === 'compaction') {
      const tokens = event.usage.inputTokens + event.usage.outputTokens;
      total.sent += tokens;
    }
    if (event.type !== 'model.started') continue;
    const { total: tokens, contextWindow = Infinity } = event.context;
    const whole = tokens + removed.reduce((sum, each) => sum + each, 0);
    total.requests++;
    total.sent += tokens;
    total.unreduced += whole;
    if (tokens > contextWindow) total.over++;
    if (whole > contextWindow) overFrom ??= total.requests;
  }
  return { ...total, overFrom, compactions: removed.length };
}

/** Says {@link Savings} in words; empty while nothing was removed. */
export function savingsInWords({ sent, unreduced, overFrom, over, requests }: Savings): string {
  if (sent === unreduced) return '';
  const without = overFrom === undefined ? 'within the window' : `over the window from request ${overFrom}`;
  const reached = over === 0 ? 'never over' : `over it in ${over} of ${requests} requests`;
  return `Without compaction: ${shortNumber(unreduced)} tokens, ${without}. With: ${shortNumber(sent)}, ${reached}.`;
}

/** Says in words what compactions cost, and what they saved against sending everything: of a call, or of a session. */
export function renderCompactionCost(compaction: CompactionCost): string {
  const { modelCalls, inputTokens, outputTokens, cost, savedTokens } = compaction;
  const saved = `saved ${shortNumber(savedTokens)} tokens`;
  if (modelCalls === 0) return `compaction: no model call, ${saved}`;
  const calls = `${modelCalls} model ${modelCalls === 1 ? 'call' : 'calls'}`;
  const price = cost === undefined ? '' : `, cost ${cost.toPrecision(2)}`;
  return `compaction: ${calls} of ${shortNumber(inputTokens + outputTokens)} tokens${price}, ${saved}`;
}
