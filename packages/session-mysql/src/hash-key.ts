import { createHash } from 'node:crypto';
import { checkKey, encodeSegment, type SessionKey } from '@x/core';

/** What a session is found by. */
export function hashKey(key: SessionKey): Buffer {
  return createHash('sha256').update(checkKey(key).toString()).digest();
}

/** What sessions are listed by; `null` for a part that is absent. Encoded first: UTF-8 has no lone surrogates. */
export function hashPart(part: string | undefined): Buffer | null {
  if (part === undefined) return null;
  return createHash('sha256').update(encodeSegment(part)).digest().subarray(0, 16);
}
