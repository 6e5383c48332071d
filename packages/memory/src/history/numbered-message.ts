import type { Message } from '@x/core';
import { cut, messageText } from '../message-text.js';
import type { HistorySettings } from './history-config.js';

/** A message and its place in the log, from 1. */
export interface NumberedMessage {
  readonly number: number;
  readonly message: Message;
}

export async function* numbered(messages: AsyncIterable<Message>): AsyncIterable<NumberedMessage> {
  let number = 0;
  for await (const message of messages) yield { number: ++number, message };
}

export function heading({ number, message }: NumberedMessage): string {
  const kind = message.kind === undefined ? '' : `, ${message.kind}`;
  return `#${number} ${message.role}${kind}, ${message.createdAt}`;
}

/**
 * The newest of some messages that fit into an answer, oldest first, and the number of those that did not fit. There is
 * always one.
 */
export function renderNewest(
  messages: readonly NumberedMessage[],
  settings: HistorySettings,
): { readonly text: string; readonly left: number } {
  const rendered: string[] = [];
  let chars = 0;
  for (const entry of messages.toReversed()) {
    const advice = (from: number) => `: number ${entry.number} with offset ${from}`;
    const text = `${heading(entry)}\n${cut(messageText(entry.message), settings.maxMessageChars, advice)}`;
    chars += text.length + 2;
    if (rendered.length > 0 && chars > settings.maxOutputChars) break;
    rendered.push(text);
  }
  return { text: rendered.reverse().join('\n\n'), left: messages.length - rendered.length };
}
