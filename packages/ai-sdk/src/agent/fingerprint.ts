import { createHash } from 'node:crypto';
import { exactText } from '@x/core';
import type { SdkMessage } from './sdk-message.js';

/** For each message that was seen: what came before it then, and its fingerprint behind that. */
const known = new WeakMap<SdkMessage, { readonly before: string; readonly id: string }>();

/**
 * For each message an id that stands for it and all that comes before it: equal for equal beginnings of a conversation,
 * in whatever objects and calls, so that it can be found again. An object behind the same beginning is read once.
 */
export function fingerprints(messages: readonly SdkMessage[]): readonly string[] {
  let id = '';
  return messages.map((message) => {
    id = fingerprint(message, id);
    return id;
  });
}

function fingerprint(message: SdkMessage, before: string): string {
  const seen = known.get(message);
  if (seen?.before === before) return seen.id;
  const id = digest(`${before} ${exactText(message)}`);
  known.set(message, { before, id });
  return id;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
