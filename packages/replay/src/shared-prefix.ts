import { createHash } from 'node:crypto';
import type { Message } from '@x/core';

const hashes = new WeakMap<Message, string>();

/** How many messages two requests have in common from the start: what a provider's prompt cache can reuse. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const most = Math.min(before.length, after.length);
  let length = 0;
  while (length < most) {
    const [left, right] = [before[length], after[length]];
    if (left === undefined || right === undefined || !sameContent(left, right)) break;
    length++;
  }
  return length;
}

function sameContent(left: Message, right: Message): boolean {
  return left === right || hashOf(left) === hashOf(right);
}

/** Of what is sent: role and content. Serialized once per message. */
function hashOf(message: Message): string {
  let hash = hashes.get(message);
  if (hash === undefined) {
    hash = createHash('sha256')
      .update(JSON.stringify([message.role, message.content]))
      .digest('base64');
    hashes.set(message, hash);
  }
  return hash;
}
