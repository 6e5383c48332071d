import { createHash } from 'node:crypto';
import type { Message } from '@x/core';

const hashes = new WeakMap<Message, string>();

/** How many messages two requests have in common from the start: what a provider's prompt cache can reuse. */
export function sharedPrefix(before: readonly Message[], after: readonly Message[]): number {
  const end = before.findIndex((message, index) => !sameContent(message, after[index]));
  return end === -1 ? before.length : end;
}

function sameContent(left: Message, right: Message | undefined): boolean {
  return left === right || (right !== undefined && hashOf(left) === hashOf(right));
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
