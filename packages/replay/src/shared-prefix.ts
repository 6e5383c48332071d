import type { Message } from '@x/core';

const texts = new WeakMap<Message, string>();

/** How many messages two requests have in common from the start: what a provider's prompt cache can reuse. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = before.findIndex((message, index) => !sameContent(message, after[index]));
  return end === -1 ? before.length : end;
}

function sameContent(left: Message, right: Message | undefined): boolean {
  return left === right || (right !== undefined && textOf(left) === textOf(right));
}

/** What is sent: role and content. Serialized once per message. */
function textOf(message: Message): string {
  const text = texts.get(message) ?? JSON.stringify([message.role, message.content]);
  texts.set(message, text);
  return text;
}
