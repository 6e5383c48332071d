import { headOf, tailOf } from '@x/core/internal';

/** Minimum UTF-16 units that each of several texts keeps. */
const SHORTEST = 12;
/** UTF-16 units of a partial word at a cut that may be dropped. */
const SHORT_WORD = 10;
/** Minimum UTF-16 units that a cut must save to be worthwhile. */
const LEAST_CUT = 8;

/**
 * Puts a text on one line and cuts out its middle if it is clearly longer than `length` UTF-16 units. Cuts between words if a
 * word boundary is near.
 *
 * @param share The share of the kept text that is from the end.
 */
export function cutLine(text: string, length: number, share = 0.25): string {
  // Avoids copying a text of megabytes.
  const near = text.length > length * 8 ? `${headOf(text, length * 2)} ${tailOf(text, length * 2)}` : text;
  const line = near.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= length || line.length < Math.min(length + LEAST_CUT, length * 1.25)) return line;
  // The end of a path or a URL is more specific than its beginning.
  const most = Math.floor(length * (/^[^\s/]*\/\S*$/.test(line) ? 0.8 : share));
  const head = headOf(line, length - most - 1);
  const tail = tailOf(line, most);
  const space = head.lastIndexOf(' ');
  const next = tail.indexOf(' ');
  const words = space > 0 && space >= head.length - SHORT_WORD ? head.slice(0, space) : head;
  return `${words.trimEnd()}…${(next < SHORT_WORD ? tail.slice(next + 1) : tail).trimStart()}`;
}

/** Puts a text on one line and cuts off its end if it is longer than `length` UTF-16 units. */
export function cutEnd(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${headOf(line, length - 1).trimEnd()}…`;
}

/** Cuts texts to about `length` UTF-16 units together. Keeps short texts in full and shares the rest among the others. */
export function sharing(texts: readonly string[], length: number, share?: number): readonly string[] {
  let room = length;
  let left = texts.length;
  const parts: string[] = [];
  for (const [index, text] of [...texts.entries()].sort(([, one], [, other]) => one.length - other.length)) {
    const limit = Math.max(SHORTEST, Math.floor(room / left));
    parts[index] = cutLine(text, limit, share);
    room -= Math.min(limit, text.length);
    left--;
  }
  return parts;
}
