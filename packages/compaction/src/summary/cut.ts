import { type Message, toolResultsOf } from '@x/core';
import { type MessageGroup, pairingOf } from '@x/core/messages';
import { isUserRequest, startOfUnseen } from '../conversation/regions.js';
import type { Meter } from '../meter.js';
import { mustShrink, type ReductionTarget, type View } from '../stage.js';
import { KEEP_SHARE, type Keep } from './options.js';
import { isNarrative } from './summary-message.js';
import { type KeptRequest, keepUserWords } from './user-words.js';

/** Shares of the largest request, tried in order if the sizes in `keep` do not fit. */
const FLOOR_STEPS = [1, 0.9, 0.8, 0.7, 0.6];

/** A place where a conversation may be cut. */
export interface Cut {
  readonly start: number;
  /** `true` if the cut follows the sizes in `keep`. It may then fill the largest request, and the summary takes what is left. */
  readonly isFloor: boolean;
}

/** Cuts to try. Cuts that keep more come first. */
interface Cuts {
  readonly cuts: readonly Cut[];
  /** Index of the first message that `keep` requires to stay; `undefined` if `keep` has no size. */
  readonly floor: number | undefined;
}

/**
 * Returns the cuts to try, in order. If `keep` has a size, the first cut keeps that size. Cuts that keep less follow only if the request
 * would be too large. Otherwise the first cut keeps the default size, or less if the summary needs the room. Then follow a half, a quarter
 * and an eighth of it. The last cut keeps only open calls and results that no model has seen.
 *
 * @param warmMessages Messages to keep beyond `keep`, if there is room.
 * @param pinned Messages that always stay, on either side of the cut.
 * @param reserve Tokens for the summary and for all that stays in front of it.
 */
export function candidateCuts(
  view: View,
  budget: ReductionTarget,
  { keep, warmMessages = 0 }: { readonly keep: Keep; readonly warmMessages?: number },
  pinned: ReadonlySet<Message>,
  reserve: number,
  meter: Meter,
): Cuts {
  const { messages, fixedTokens } = view;
  const { groups } = pairingOf(messages);
  const room = budget.targetTokens - fixedTokens - reserve;
  // A forced reduction condenses at least half, even of a short conversation.
  const most = budget.forced
    ? { messages: Math.floor(messages.length / 2), tokens: (view.tokens - fixedTokens) / 2 }
    : { messages: Infinity, tokens: Infinity };
  const { share, tokens, messages: count, outputs } = keep;
  const isNamed = [share, tokens, count, outputs].some((size) => size !== undefined);
  const isBySize = !isNamed || share !== undefined || tokens !== undefined;
  const keepTokens = isBySize
    ? Math.max(tokens ?? 0, budget.dueTokens * (share ?? (isNamed ? 0 : KEEP_SHARE)))
    : Infinity;
  const wanted =
    count === undefined ? messages.length : Math.min(Math.max(count, warmMessages), most.messages);
  // Leaves room below the message target for a summary and requests, so that no reduction is due again at once.
  const maxMessages = Number.isFinite(budget.targetMessages)
    ? Math.max(count ?? 0, budget.targetMessages - 3)
    : Infinity;
  const unseen = startOfUnseen(messages);
  /**
   * Returns the index of the first message that stays. Goes back from the newest group while `stays` accepts groups. Never separates a call
   * from its results; open calls and unseen results always stay. `tokens` counts from the group to the end, without pinned messages.
   */
  const startOf = (stays: (group: MessageGroup, tokens: number) => boolean) => {
    let cut = messages.length;
    let tokens = 0;
    for (const group of groups.toReversed()) {
      for (const message of messages.slice(group.start, group.end))
        if (!pinned.has(message)) tokens += meter.message(message);
      if (!group.open && group.start < unseen && !stays(group, tokens)) break;
      cut = group.start;
    }
    return cut;
  };
  /** Drops a whole batch of calls if it exceeds the token limit. Keeps a whole batch if the message limit falls inside it. */
  const startOfTail = (least: number, maxTokens: number) =>
    startOf(
      ({ start, end }, total) =>
        messages.length - end < least && messages.length - start <= maxMessages && total <= maxTokens,
    );

  const cuts: Cut[] = [];
  const add = (start: number, isFloor: boolean) => {
    if (start > (cuts.at(-1)?.start ?? 0)) cuts.push({ start, isFloor });
  };
  const tail = (factor: number) => {
    const maxTokens = Number.isFinite(keepTokens)
      ? Math.min(room, Math.min(keepTokens, most.tokens) * factor)
      : room;
    return startOfTail(wanted * factor, maxTokens);
  };
  const first = firstNamed(messages, keep);
  const floor = isNamed
    ? startOf(({ end }, total) => end > first || total <= (isBySize ? keepTokens : 0))
    : undefined;
  if (floor !== undefined) {
    if (warmMessages > (count ?? 0)) add(Math.min(tail(1), floor), false);
    add(floor, true);
    if (!mustShrink(view, budget)) return { cuts, floor };
    // Keep less than `keep` requires, but only as little less as the request limit demands.
    const mostRoom = budget.mostTokens - fixedTokens - reserve;
    for (const factor of FLOOR_STEPS) add(startOfTail(messages.length - floor, mostRoom * factor), true);
  }
  for (const factor of [1, 1 / 2, 1 / 4, 1 / 8, 0]) add(tail(factor), false);
  return { cuts, floor };
}

/** Number of messages to search for each tool output to keep. Limited, because a long chat may have no outputs. */
const MESSAGES_PER_OUTPUT = 4;

/** Returns the index of the first message that `keep.messages` or `keep.outputs` requires to stay. */
function firstNamed(messages: readonly Message[], { messages: count = 0, outputs = 0 }: Keep): number {
  const { length } = messages;
  const fromOutputs = length - outputs * MESSAGES_PER_OUTPUT;
  let first = length - count;
  let left = outputs;
  for (let index = length - 1; index >= fromOutputs && index >= 0 && left > 0; index--) {
    const results = toolResultsOf(messages[index] as Message).length;
    left -= results;
    if (results > 0) first = Math.min(first, index);
  }
  return first;
}

/** A conversation cut for a summary. */
export interface Partition {
  /** The index of the cut. */
  readonly cut: number;
  /** Messages in front of the summary: system messages, and the user's requests that stay, in order. */
  readonly front: readonly Message[];
  /** The requests among them. */
  readonly requests: readonly KeptRequest[];
  /** Earlier summaries and narratives, on either side of the cut. The new summary merges them. */
  readonly previous: readonly Message[];
  /** Messages that the summary covers, in order, including requests that stay in front of it. */
  readonly covered: readonly Message[];
  /** Index in `covered` of the first message after the last earlier summary. */
  readonly fresh: number;
  /** Messages that stay as they are. */
  readonly tail: readonly Message[];
}

/**
 * Splits a conversation at an index.
 *
 * @param room Tokens for the requests in front of the summary.
 * @param most Maximum number of requests that may stay.
 */
export function partitionAt(
  messages: readonly Message[],
  cut: number,
  room: number,
  meter: Meter,
  most?: number,
): Partition {
  const before: Message[] = [];
  const previous: Message[] = [];
  const covered: Message[] = [];
  let fresh = 0;
  for (let index = 0; index < cut; index++) {
    const message = messages[index] as Message;
    if (message.role === 'system') before.push(message);
    else if (isNarrative(message)) previous.push(message);
    else if (message.kind === 'summary') {
      previous.push(message);
      fresh = covered.length;
    } else {
      covered.push(message);
      if (isUserRequest(message)) before.push(message);
    }
  }
  const requests = keepUserWords(covered.filter(isUserRequest), messages, room, meter, most);
  const kept = new Map(requests.map(({ original, message }) => [original, message]));
  const front = before.flatMap((message) =>
    message.role === 'system' ? message : (kept.get(message) ?? []),
  );
  const behind = messages.slice(cut);
  previous.push(...behind.filter(isNarrative));
  return { cut, front, requests, previous, covered, fresh, tail: behind.filter((one) => !isNarrative(one)) };
}

/** Returns the conversation with `replacement` in place of the covered part. */
export function reassemble(part: Partition, replacement: readonly Message[]): readonly Message[] {
  return [...part.front, ...replacement, ...part.tail];
}
