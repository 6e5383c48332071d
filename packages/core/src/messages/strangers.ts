import type { TextOrigin } from './content-block.js';
import { type Message, toolUsesOf } from './message.js';

/** Begins a memory line that an untrusted text may have suggested and that no person has confirmed. */
export const UNCONFIRMED = '[unconfirmed: ';

/** The key in an answer's metadata that names the reminders of its request which quoted untrusted text. */
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
 * Names the sources of untrusted text in this turn: text that neither the user nor the agent wrote. A turn begins with the user message
 * that follows a final answer. Messages that steer a running turn belong to it. Tools are named by their results. Other names are `memory
 * and reminders`, `a tool of the provider`, `task` (given by another agent), `attached files`, and the kinds of summaries and notes about
 * removed messages.
 * The names are shown to people.
 *
 * @param known Origins that are trusted.
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
      for (const { origin } of content) {
        if (origin === 'file' && !known.includes(origin)) names.add('attached files');
        if (origin !== undefined && origin !== 'file') names.add('task');
      }
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

/** Tests if the last model message before an index was a final answer. A summary may replace an unfinished turn. */
function isAnswered(context: readonly Message[], index: number): boolean {
  const last = context.slice(0, index).findLast(({ role, kind }) => kind === undefined && role !== 'user');
  return last?.role === 'assistant' && toolUsesOf(last).length === 0;
}
