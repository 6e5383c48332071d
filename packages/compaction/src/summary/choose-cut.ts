import type { Message, MessageGroup } from '@x/core';
import type { Meter } from '../meter.js';

/** What may stay verbatim at the end of a conversation. */
export interface TailLimits {
  /** Wanted; a batch of calls that lies across the border still stays. */
  readonly keepMessages: number;
  /** Never more than these, whatever lies across the border. */
  readonly maxMessages: number;
  /** Never more tokens than these. */
  readonly maxTokens: number;
  /** From this index on no model has seen the results: they stay whatever is wanted … */
  readonly unseen: number;
  /** … up to these tokens. */
  readonly maxUnseenTokens: number;
  /** Messages that stay anyway, and whose tokens are accounted for. */
  readonly pinned: ReadonlySet<Message>;
}

/**
 * Where the part that stays verbatim begins: an index that separates no call from its results. A batch of calls that is
 * too large for the limits is not kept in part. Open calls always stay.
 */
export function chooseCut(
  messages: readonly Message[],
  groups: readonly MessageGroup[],
  limits: TailLimits,
  meter: Meter,
): number {
  let cut = messages.length;
  let tokens = 0;
  for (const { start, end, open } of groups.toReversed()) {
    const members = messages.slice(start, end);
    const total = tokens + meter.messages(members.filter((message) => !limits.pinned.has(message)));
    const kept = messages.length - cut;
    const wanted =
      kept < limits.keepMessages &&
      messages.length - start <= limits.maxMessages &&
      total <= limits.maxTokens;
    const unseen = start >= limits.unseen && total <= limits.maxUnseenTokens;
    if (!open && !wanted && !unseen) break;
    tokens = total;
    cut = start;
  }
  return cut;
}
