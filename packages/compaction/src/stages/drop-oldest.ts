import type { Message } from '@x/core';
import { type MessageGroup, pairingOf } from '@x/core/messages';
import { droppedBefore, droppedNote } from '../conversation/marks.js';
import {
  firstUserRequest,
  isUserRequest,
  latestUserRequest,
  startOfUnseen,
} from '../conversation/regions.js';
import { RECALL } from '../recall/passages.js';
import { type Fate, type Stage, unchanged } from '../stage.js';
import { isOfSummary } from '../summary/summary-message.js';

/**
 * Drops the oldest messages, calls together with their results, until the view fits. This is the last resort: it runs only above the
 * limit. The user's requests are dropped last, and only if they do not fit the window. Never drops system messages, a summary, the first
 * request, the latest request, an open call, or a result that no model has seen. A note says how many messages were dropped, and where
 * they can be read.
 *
 * @param window `newest`: number of newest messages that stay if the request fits. With `window`, the limit is the trigger point
 *   instead of the model's window.
 */
export function dropOldest(window?: { readonly newest: number }): Stage {
  return {
    name: 'drop_oldest',
    cost: 'free',
    async reduce(view, budget, context) {
      const { meter, tools = [] } = context;
      const most = window ? budget.dueTokens : budget.mostTokens;
      if (view.tokens <= most) return unchanged(view, 'within the limit');
      const { messages } = view;
      const kept = messages.length - (window?.newest ?? 0);
      const dropped = new Set<Message>();
      const found = tools.some(({ name }) => name === RECALL) ? ': recall finds them' : '';
      const noteOf = (run: readonly Message[]) =>
        droppedNote(run, `to fit the context window${found}`, context);
      const sizeOfNote = meter.message(noteOf(messages));
      let { tokens } = view;
      /** Groups with a higher rank are dropped later. */
      const rank = ({ start, end }: MessageGroup) =>
        (end > kept ? 2 : 0) + (isUserRequest(messages[start] as Message) ? 1 : 0);
      const limits = [budget.enoughTokens, most, budget.mostTokens, budget.mostTokens];
      const order = droppableGroups(messages).toSorted((one, other) => rank(one) - rank(other));
      for (const group of order) {
        const { start, end } = group;
        if (tokens <= (limits[rank(group)] ?? 0)) continue;
        // If requests have to go, also make room for later ones. Otherwise every turn would drop one.
        if (rank(group) === 1) limits[1] = budget.enoughTokens;
        for (const message of messages.slice(start, end)) {
          dropped.add(message);
          tokens -= meter.message(message);
        }
        // One note for each run of dropped messages: an earlier note next to the group is merged into it.
        tokens += sizeOfNote;
        for (const next of [messages[start - 1], messages[end]]) {
          if (next === undefined || !(dropped.has(next) || droppedBefore(next) > 0)) continue;
          tokens -= dropped.has(next) ? sizeOfNote : meter.message(next);
          dropped.add(next);
        }
      }
      if (dropped.size === 0) return unchanged(view, 'no message may be dropped');

      const fates: Fate[] = [...dropped].map(({ id, metadata }) => ({
        messageId: id,
        fate: droppedBefore({ metadata }) > 0 ? 'merged' : 'dropped',
      }));
      const result = withNotes(messages, dropped, noteOf);
      return {
        messages: tokens <= most ? result : messages.filter((message) => !dropped.has(message)),
        fates,
      };
    },
  };
}

/** Replaces each run of dropped messages by a note. The note keeps their count, so that later messages keep their numbers. */
function withNotes(
  messages: readonly Message[],
  dropped: ReadonlySet<Message>,
  noteOf: (run: readonly Message[]) => Message,
): readonly Message[] {
  const result: Message[] = [];
  let run: Message[] = [];
  for (const message of messages) {
    if (dropped.has(message)) {
      run.push(message);
      continue;
    }
    if (run.length > 0) result.push(noteOf(run));
    run = [];
    result.push(message);
  }
  if (run.length > 0) result.push(noteOf(run));
  return result;
}

function droppableGroups(messages: readonly Message[]): readonly MessageGroup[] {
  const pinned = new Set([firstUserRequest(messages), latestUserRequest(messages)]);
  const most = startOfUnseen(messages);
  return pairingOf(messages).groups.filter(({ start, end, open }) => {
    if (open || end > most) return false;
    for (let index = start; index < end; index++) {
      const message = messages[index] as Message;
      if (pinned.has(index) || message.role === 'system' || isOfSummary(message)) return false;
      if (droppedBefore(message) > 0) return false;
    }
    return true;
  });
}
