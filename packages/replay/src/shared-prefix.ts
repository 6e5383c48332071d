import type { Message } from '@x/core';
import { memoize } from '@x/core/internal';

/** Counts the equal messages at the start of two requests. A provider's prompt cache can reuse them. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = before.findIndex((message, index) => {
    const other = after[index];
    return message !== other && (other === undefined || textOf(message) !== textOf(other));
  });
  return end === -1 ? before.length : end;
}

/** Returns a message's role and content as JSON, because only these are sent. Cached by message. */
const textOf = memoize(({ role, content }: Message) => JSON.stringify([role, content]));
