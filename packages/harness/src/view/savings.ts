import type { AgentEvent, CompactionCost } from '@x/core';
import { shortNumber } from './printable.js';

/** Request tokens that compaction saved in a session. */
export interface Savings {
  /** Number of model requests. */
  readonly requests: number;
  /** Tokens of all requests as sent, plus those of the model calls for compaction itself. */
  readonly sent: number;
  /** Tokens of the same requests if nothing had been removed. */
  readonly unreduced: number;
  /** Number of the first request, from 1, that would have exceeded the context window without compaction. */
  readonly overFrom?: number | undefined;
  /** Number of requests that exceeded the context window despite compaction. */
  readonly over: number;
  /** Number of compactions that were not undone. */
  readonly compactions: number;
}

/** The events that {@link savingsOf} reads; it ignores all others. */
type Counted = { readonly type: AgentEvent['type'] };

/**
 * Computes the savings of compaction from the events of a session, oldest first. The unreduced size of a request is its
 * size plus the tokens removed by earlier compactions (`tokensBefore - tokensAfter`) that were not undone. Assumes that
 * the model would have taken the same steps in a fuller window.
 *
 * @param events The events of all calls of a session.
 */
export function savingsOf(events: Iterable<Counted>): Savings {
  let [removed, compactions] = [0, 0];
  const total = { requests: 0, sent: 0, unreduced: 0, over: 0 };
  let overFrom: number | undefined;
  for (const event of events as Iterable<AgentEvent>) {
    if (event.type === 'context.compacted' && event.status === 'applied') {
      removed += event.tokensBefore - event.tokensAfter;
      compactions++;
    }
    if (event.type === 'context.narrated') removed -= event.tokens;
    if (event.type === 'context.restored') {
      // An undo also reverts the small reductions after a summary, so use the sizes in its own event.
      removed += (event.tokensBefore ?? 0) - (event.tokensAfter ?? 0);
      compactions--;
    }
    // Requests of subagents are not in these events, so their summaries are not counted either.
    if (event.type === 'usage.reported' && event.source === 'compaction' && event.taskId === undefined) {
      const tokens = event.usage.inputTokens + event.usage.outputTokens;
      total.sent += tokens;
    }
    if (event.type !== 'model.started') continue;
    const { total: tokens, contextWindow = Infinity } = event.context;
    const whole = tokens + removed;
    total.requests++;
    total.sent += tokens;
    total.unreduced += whole;
    if (tokens > contextWindow) total.over++;
    if (whole > contextWindow) overFrom ??= total.requests;
  }
  return { ...total, overFrom, compactions };
}

/**
 * Describes {@link Savings} in words: the totals and, if a request exceeded the window, which one. Returns an empty string if nothing was
 * removed.
 */
export function savingsInWords({ sent, unreduced, overFrom, over, requests }: Savings): string {
  if (sent === unreduced) return '';
  const without = overFrom === undefined ? '' : `; the window is full at request ${overFrom}`;
  const reached = over > 0 ? `; requests above the window: ${over}` : without && ', never full';
  return `Without compaction: ${shortNumber(unreduced)} tokens in ${requests} requests${without}. With compaction: ${shortNumber(sent)} tokens${reached}.`;
}

/**
 * Describes the cost of compactions in a call or a session, and the tokens that they saved compared with sending
 * everything.
 */
export function renderCompactionCost(compaction: CompactionCost): string {
  const { modelCalls, inputTokens, outputTokens, cost, savedTokens } = compaction;
  const saved = `saved ${shortNumber(savedTokens)} tokens`;
  if (modelCalls === 0) return `compaction: ${saved}`;
  const calls = `${modelCalls} model ${modelCalls === 1 ? 'call' : 'calls'}`;
  const price = cost === undefined ? '' : `, cost ${cost.toPrecision(2)}`;
  return `compaction: ${calls} of ${shortNumber(inputTokens + outputTokens)} tokens${price}, ${saved}`;
}
