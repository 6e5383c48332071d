import { type FileBlock, headOf, type Message, type ToolOutputBlock, tailOf } from '@x/core';
import { messageText } from '../message-text.js';
import type { HistorySettings } from './history-config.js';
import { heading, type NumberedMessage } from './numbered-message.js';

/**
 * One message as a tool's answer: its text from `offset` on, and how to read on where it is too long; with its beginning
 * come the files that it holds.
 *
 * @param offset UTF-16 units to skip.
 */
export function wholeMessage(
  entry: NumberedMessage,
  offset: number,
  { maxOutputChars }: HistorySettings,
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
