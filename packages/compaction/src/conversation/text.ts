import { headOf, tailOf } from '@x/core';

/**
 * At most `length` UTF-16 units: three quarters from the head, one from the tail, `marker` between them. Never splits a
 * surrogate pair. A marker that does not fit is left out.
 */
export function cutMiddle(text: string, length: number, marker: string): string {
  if (text.length <= length) return text;
  const room = length - marker.length;
  if (room <= 0) return headOf(text, Math.max(0, length));
  const tail = Math.floor(room / 4);
  return headOf(text, room - tail) + marker + tailOf(text, tail);
}
