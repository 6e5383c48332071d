import type { Message } from '@x/core';

const texts = new WeakMap<Message, string>();

/** How many messages two requests have in common from the start: what a provider's prompt cache can reuse. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = before.findIndex((message, index) => {
    const other = after[index];
    return message !== other && (other === undefined || textOf(message) !== textOf(other));
  });
  return end === -1 ? before.length : end;
}

/** What is sent: role and content. Serialized once per message. */
function textOf(message: Message): string {
  const text = texts.get(message) ?? JSON.stringify([message.role, message.content]);
  texts.set(message, text);
  return text;
}
