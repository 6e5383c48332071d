import { createHash } from 'node:crypto';
import { toJson } from '../to-json.js';
import type { SdkMessage } from './sdk-message.js';

const digests = new WeakMap<SdkMessage, string>();

/**
 * For each message an id that stands for it and all that comes before it: equal for equal beginnings of a conversation,
 * in whatever objects and calls, so that it can be found again. An object is read once.
 */
export function fingerprints(messages: readonly SdkMessage[]): readonly string[] {
  let chain = '';
  return messages.map((message) => {
    chain = digest(`${chain} ${ownDigest(message)}`);
    return chain;
  });
}

function ownDigest(message: SdkMessage): string {
  const known = digests.get(message);
  if (known !== undefined) return known;
  const own = digest(JSON.stringify(toJson(message)));
  digests.set(message, own);
  return own;
}

function digest(text: string): string {
  return createHash('sha256').update(text).digest('base64url').slice(0, 22);
}
