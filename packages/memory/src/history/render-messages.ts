import { type FileBlock, headOf, type Message, type ToolOutputBlock, tailOf } from '@x/core';
import { cut, fitting, messageText } from '../message-text.js';

/** A message and its place in the log, from 1. */
export interface NumberedMessage {
  readonly number: number;
  readonly message: Message;
}

export async function* numbered(messages: AsyncIterable<Message>): AsyncIterable<NumberedMessage> {
  let number = 0;
  for await (const message of messages) yield { number: ++number, message };
}

function heading({ number, message }: NumberedMessage): string {
  const kind = message.kind === undefined ? '' : `, ${message.kind}`;
  return `#${number} ${message.role}${kind}, ${message.createdAt}`;
}

/**
 * The newest of some messages that fit into an answer, oldest first, and the number of those that did not fit. There is
 * always one.
 */
export function renderNewest(
  messages: readonly NumberedMessage[],
  { maxMessageChars, maxOutputChars }: { readonly maxMessageChars: number; readonly maxOutputChars: number },
): { readonly text: string; readonly left: number } {
  const rendered = messages.toReversed().map((entry) => {
    const advice = (from: number) => `: number ${entry.number} with offset ${from}`;
    return `${heading(entry)}\n${cut(messageText(entry.message), maxMessageChars, advice)}`;
  });
  const shown = fitting(rendered, maxOutputChars, '\n\n');
  return { text: shown.reverse().join('\n\n'), left: messages.length - shown.length };
}

/**
 * One message as a tool's answer: its text from `offset` on, and how to read on where it is too long; with its beginning
 * come the files that it holds.
 *
 * @param offset UTF-16 units to skip.
 */
export function wholeMessage(
  entry: NumberedMessage,
  offset: number,
  maxOutputChars: number,
): readonly ToolOutputBlock[] {
  const text = messageText(entry.message);
  const from = Math.min(offset, text.length);
  const part = headOf(tailOf(text, text.length - from), maxOutputChars);
  const end = Math.min(text.length, from + part.length);
  const place = offset === 0 && end === text.length ? '' : `, characters ${from} to ${end} of ${text.length}`;
  const more = end < text.length ? `\n\nMore: the same with offset ${end}.` : '';
  const answer: ToolOutputBlock = { type: 'text', text: `${heading(entry)}${place}\n${part}${more}` };
  return offset === 0 ? [answer, ...filesOf(entry.message)] : [answer];
}

function filesOf({ content }: Message): readonly FileBlock[] {
  return content.flatMap((block) => {
    if (block.type === 'file') return [block];
    return block.type === 'tool_result' ? block.output.filter((part) => part.type === 'file') : [];
  });
}
