import type { Message } from '@x/core';
import { pairingOf } from '@x/core';
import { startOfUnseen } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import type { ReductionTarget, View } from '../reducer.js';
import { chooseCut, type TailLimits } from './choose-cut.js';

/** How much a summary is asked to leave verbatim. */
export interface Keep {
  readonly keepMessages: number;
  /** When not 0, in place of `keepMessages`. */
  readonly keepTokens: number;
}

/** Where to cut. */
export interface Cut {
  readonly index: number;
  /** Gives up results that no model has seen: only where nothing else fits the limit. */
  readonly lastResort: boolean;
}

/**
 * Where to cut, in the order in which to try: first keeping what is asked for as far as it leaves room for the summary,
 * then ever less, then nothing but open calls and results that no model has seen, in the end not even those.
 *
 * @param pinned Messages that stay on whichever side of the cut they are.
 * @param reserve Tokens that the summary itself may need.
 */
export function candidateCuts(
  view: View,
  budget: ReductionTarget,
  keep: Keep,
  pinned: ReadonlySet<Message>,
  reserve: number,
  meter: Meter,
): readonly Cut[] {
  const { messages, fixedTokens } = view;
  const { groups } = pairingOf(messages);
  const taken = fixedTokens + reserve + meter.messages(pinned);
  const room = budget.condensedTokens - taken;
  const limits = {
    maxMessages: maxMessages(budget, keep),
    pinned,
    unseen: startOfUnseen(messages),
  };
  const maxUnseenTokens = budget.limitTokens - taken;

  const cuts: Cut[] = [];
  const tryWith = (
    own: Pick<TailLimits, 'keepMessages' | 'maxTokens' | 'maxUnseenTokens'>,
    lastResort = false,
  ) => {
    const index = chooseCut(messages, groups, { ...limits, ...own }, meter);
    if (index > (cuts.at(-1)?.index ?? 0)) cuts.push({ index, lastResort });
  };
  for (const factor of [1, 1 / 2, 1 / 4, 1 / 8, 0]) {
    tryWith({
      keepMessages: wanted(messages, budget, keep) * factor || 0,
      maxTokens: Math.min(room, keep.keepTokens > 0 ? keep.keepTokens * factor : room),
      maxUnseenTokens,
    });
  }
  tryWith({ keepMessages: 0, maxTokens: 0, maxUnseenTokens: 0 }, true);
  return cuts;
}

function wanted(messages: readonly Message[], budget: ReductionTarget, keep: Keep): number {
  if (keep.keepTokens > 0) return messages.length;
  // Asked for by hand, a short conversation is condensed too.
  return budget.forced ? Math.min(keep.keepMessages, Math.floor(messages.length / 2)) : keep.keepMessages;
}

/** So few that the number of messages is not a reason to reduce again at once: a summary and pinned requests come on top. */
function maxMessages(budget: ReductionTarget, keep: Keep): number {
  if (!Number.isFinite(budget.targetMessages)) return Number.POSITIVE_INFINITY;
  const most = Math.max(0, budget.targetMessages - 3);
  return keep.keepTokens > 0 ? Math.floor(most / 2) : Math.max(keep.keepMessages, most);
}
