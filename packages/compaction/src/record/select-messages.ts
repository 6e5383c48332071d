import { type Message, type ToolResultBlock, toolUsesOf } from '@x/core';
import { isTimeToRest } from '@x/core/internal';
import { pairingOf } from '@x/core/messages';
import { isUserRequest } from '../conversation/regions.js';
import { outcomeOf } from '../conversation/tool-calls.js';
import { type Entry, toolWord } from './entry.js';
import { withoutList } from './lists.js';
import { subjectOf } from './turns.js';

/** A message with its number in the session. */
export interface NumberedMessage {
  readonly at: number;
  readonly message: Message;
}

/** Maximum number of messages that are all read. */
const MOST_READ = 1_500;
/** Tokens of a record for each of the newest messages that are read if there are more. Older ones could mostly end only in a count. */
const TOKENS_PER_MESSAGE = 10;
/** Tokens of a record for each older message that is read. */
const TOKENS_PER_OLDER = 8;

/**
 * Selects the messages to read for a record, so that its cost depends on its size and not on the length of the conversation. Of a long
 * conversation, these are the newest messages, and older ones with a request of the user, the statement before it, the last list that a tool
 * wrote, or a failure after which no call had the same subject. The calls of all other messages are only counted.
 *
 * @param room The token limit of the record.
 */
export function* selectMessages(covered: readonly NumberedMessage[], room: number) {
  if (covered.length <= MOST_READ) return { read: covered, counted: [] };
  const newest = covered.length - room / TOKENS_PER_MESSAGE;
  let older = room / TOKENS_PER_OLDER;
  const { groups } = pairingOf(covered.map(({ message }) => message));
  yield;
  const saysMore = newsFinder();
  const read: NumberedMessage[] = [];
  const skipped: NumberedMessage[] = [];
  // Whole groups, so that every call that is read has its results.
  for (const { start, end } of groups.toReversed()) {
    if (isTimeToRest()) yield;
    const group = covered.slice(start, end).reverse();
    const isNews = saysMore(group) && older > 0;
    if (end <= newest && isNews) older -= group.length;
    (end > newest || isNews ? read : skipped).push(...group);
  }
  return { read: read.reverse(), counted: countOf(skipped.reverse()) };
}

/**
 * Returns a test for groups of messages: whether a group says something that neither a count nor a later group says. It must be called with
 * every group, the newest first.
 */
function newsFinder(): (group: readonly NumberedMessage[]) => boolean {
  /** The subjects of calls, and the tools that wrote a list. */
  const told = new Set<string>(['']);
  let isBeforeRequest = false;
  return (group) => {
    const results = new Map<string, ToolResultBlock>();
    let isNews = isBeforeRequest;
    isBeforeRequest = group.some(({ message }) => isUserRequest(message));
    for (const block of group.flatMap(({ message }) => message.content)) {
      if (block.type === 'tool_result') results.set(block.toolUseId, block);
      const result = block.type === 'tool_use' ? results.get(block.id) : undefined;
      if (block.type !== 'tool_use' || !result) continue;
      const subject = subjectOf(block);
      const { failed } = outcomeOf(result, block);
      const list = failed || !withoutList(block) ? '' : block.name;
      isNews ||= !told.has(failed ? subject : list);
      told.add(subject).add(list);
    }
    return isNews || isBeforeRequest;
  };
}

/** Counts the calls of messages per tool. */
function countOf(messages: readonly NumberedMessage[]): readonly Entry[] {
  const calls = messages.flatMap(({ at, message }) => toolUsesOf(message).map(({ name }) => ({ at, name })));
  const [first, last] = [calls[0], calls.at(-1)];
  if (!first || !last) return [];
  const counts = new Map<string, number>();
  for (const { name } of calls) counts.set(toolWord(name), (counts.get(toolWord(name)) ?? 0) + 1);
  const all = [...counts].map(([tool, times]) => ({ tool, times }));
  return [{ kind: 'counted', at: first.at, to: last.at, counts: all }];
}
