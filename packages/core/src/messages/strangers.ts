import type { TextOrigin } from './content-block.js';
import { type Message, toolUsesOf } from './message.js';

/** Begins a line of memory that came from a stranger's text and that no person has confirmed. */
export const UNCONFIRMED = '[unconfirmed: ';

/** The key in an answer's metadata that names the reminders of its request which quoted strangers. */
export const REMINDED = 'quotedBy';

/** Tests if a message contains text that neither the user nor the agent wrote. Results of tools do not count. */
export function quotesStrangers({ content }: Message): boolean {
  return content.some(
    ({ type, origin }) => type !== 'tool_result' && origin !== undefined && origin !== 'agent',
  );
}

/** Tests if the user wrote a message: neither a program in the user's role nor another agent. */
export function isOfUser({ role, kind, content }: Message): boolean {
  return role === 'user' && kind === undefined && content.every(({ origin }) => origin === undefined);
}

/**
 * Names the sources of text in this turn that neither the user nor the agent wrote. A turn begins with the user message that follows a
 * final answer: messages that steer a running turn belong to it. Tools are named by their results, a summary and notes about removed
 * messages by what they are, all reminders as `memory and reminders`, tools that the provider ran by `a tool of the provider`, and a task
 * that another agent gave as `task`. People read the names.
 *
 * @param known Origins that are not strangers.
 */
export function strangersIn(
  context: readonly Message[],
  known: readonly TextOrigin[] = ['agent'],
): readonly string[] {
  const names = new Set<string>();
  for (let index = context.length - 1; index >= 0; index--) {
    const message = context[index] as Message;
    const { role, kind, content, metadata } = message;
    if (kind === 'summary') return [...names.add('summary')];
    if (kind !== undefined && quotesStrangers(message)) names.add('earlier messages');
    if (metadata?.[REMINDED] !== undefined) names.add('memory and reminders');
    if (role === 'user' && kind === undefined) {
      if (!isOfUser(message)) names.add('task');
      if (isAnswered(context, index)) break;
    }
    for (const block of content) {
      if (block.type === 'opaque' && block.half !== undefined) names.add('a tool of the provider');
      if (block.type !== 'tool_result') continue;
      if (block.origin === undefined || !known.includes(block.origin)) names.add(block.toolName);
    }
  }
  return [...names];
}

/** Tests if the last message of the model before an index was a final answer. A summary may stand for an unfinished turn. */
function isAnswered(context: readonly Message[], index: number): boolean {
  const last = context.slice(0, index).findLast(({ role, kind }) => kind === undefined && role !== 'user');
  return last?.role === 'assistant' && toolUsesOf(last).length === 0;
}
