import type { Message } from '@x/core';

const texts = new WeakMap<Message, string>();

/** Counts the messages that two requests share from the start, which a provider's prompt cache can reuse. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = before.findIndex((message, index) => {
    const other = after[index];
    return message !== other && (other === undefined || textOf(message) !== textOf(other));
  });
  return end === -1 ? before.length : end;
}

/** Returns what is sent: role and content. Cached by message. */
function textOf(message: Message): string {
  const text = texts.get(message) ?? JSON.stringify([message.role, message.content]);
  texts.set(message, text);
  return text;
}
