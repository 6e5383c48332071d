import type { ToolResultBlock, ToolUseBlock } from '../messages/content-block.js';
import { type Message, toolResultMessage, toolResultsOf, toolUsesOf } from '../messages/message.js';

const PLACEHOLDER = 'No result yet: this call was still running elsewhere when the conversation went on.';

/** The result that a call keeps, and where it stood. */
interface Answer {
  readonly block: ToolResultBlock;
  readonly index: number;
  readonly rank: number;
}

/**
 * Puts every tool result right behind its call, in a list that several writers have added to. A call without a result
 * that others go on behind gets a placeholder; when the result itself comes, in a later merge, it takes its place. Of two
 * results of one call the one that succeeded stays, else the first. A result whose call is gone (summarized) goes too.
 */
export function pairResults(messages: readonly Message[]): readonly Message[] {
  const answers = chooseAnswers(messages);
  const last = messages.findLastIndex((message) => toolResultsOf(message).length === 0);
  return messages.flatMap((message, index) => {
    const calls = toolUsesOf(message);
    const found = calls.flatMap(({ id }) => answers.get(id) ?? []);
    const indexes = [...new Set(found.map((answer) => answer.index))].sort((left, right) => left - right);
    const blocks = new Set(found.map(({ block }) => block));
    const results = indexes.flatMap((at) => only(messages[at], blocks));
    // A step that is still under way is left open: its results are yet to come.
    const open = index === last ? [] : calls.filter(({ id }) => !answers.has(id));
    return [...withoutResults(message), ...results, ...open.map(placeholder)];
  });
}

/** By call, the result that stays. */
function chooseAnswers(messages: readonly Message[]): ReadonlyMap<string, Answer> {
  const chosen = new Map<string, Answer>();
  for (const [index, message] of messages.entries()) {
    for (const block of toolResultsOf(message)) {
      const rank = message.metadata?.placeholder === true ? 0 : block.isError ? 1 : 2;
      const other = chosen.get(block.toolUseId);
      if (other === undefined || rank > other.rank) chosen.set(block.toolUseId, { block, index, rank });
    }
  }
  return chosen;
}

/** What of a message holds its place: results do not, all else does. */
function withoutResults(message: Message): readonly Message[] {
  if (toolResultsOf(message).length === 0) return [message];
  const content = message.content.filter(({ type }) => type !== 'tool_result');
  return content.length === 0 ? [] : [{ ...message, content }];
}

/** A message with those results alone that belong to the call; itself when that is all it has. */
function only(message: Message | undefined, results: ReadonlySet<unknown>): readonly Message[] {
  if (message === undefined) return [];
  const content = message.content.filter((block) => results.has(block));
  return [content.length === message.content.length ? message : { ...message, content }];
}

function placeholder(call: ToolUseBlock): Message {
  return toolResultMessage(call, PLACEHOLDER, { isError: true, metadata: { placeholder: true } });
}
