import { headOf, tailOf } from '@x/core/internal';

/** UTF-16 units that one of several texts keeps at least, however many there are. */
const SHORTEST = 12;
/** UTF-16 units of a word that is left out whole where a cut goes through it. */
const SHORT_WORD = 10;
/** A path: of a longer one the last folders and the name of the file stay. */
const PATH = /^[^\s:/]*\/[^\s:]+$/;
/** A text that is nothing but the path of a file. */
const FILE = /^[^\s:]*[^\s:/]\.[A-Za-z]\w*$/;
const LONGEST_FILE = 64;
/** A cut that saves fewer UTF-16 units takes more than it gives. */
const LEAST_CUT = 8;

/**
 * A text on one line, its middle cut out where it is longer than `length` UTF-16 units by more than a few: between words where
 * that is near.
 *
 * @param share The share of what stays that is from the end.
 */
export function cutLine(text: string, length: number, share = 0.25): string {
  // A text of megabytes is not copied to be cut.
  const near = text.length > length * 8 ? `${headOf(text, length * 2)} ${tailOf(text, length * 2)}` : text;
  const line = near.replaceAll(/\s+/g, ' ').trim();
  if (line.length <= length || line.length < Math.min(length + LEAST_CUT, length * 1.25)) return line;
  if (PATH.test(line)) {
    const start = line.indexOf('/', line.length - length + 1);
    return `…${start === -1 ? tailOf(line, length - 1) : line.slice(start)}`;
  }
  // The end of an address tells more than its beginning.
  const most = Math.floor(length * (/^[^\s/]*\/\S*$/.test(line) ? 0.8 : share));
  const head = headOf(line, length - most - 1);
  const tail = tailOf(line, most);
  const space = head.lastIndexOf(' ');
  const next = tail.indexOf(' ');
  const words = space > 0 && space >= head.length - SHORT_WORD ? head.slice(0, space) : head;
  return `${words.trimEnd()}…${(next < SHORT_WORD ? tail.slice(next + 1) : tail).trimStart()}`;
}

/** A text on one line, its end cut off where it is longer than `length` UTF-16 units. */
export function cutEnd(text: string, length: number): string {
  const line = text.replaceAll(/\s+/g, ' ').trim();
  return line.length <= length ? line : `${headOf(line, length - 1).trimEnd()}…`;
}

/** Texts in so many UTF-16 units together: short ones whole, the others cut to what is left for each. */
export function sharing(texts: readonly string[], length: number, share?: number): readonly string[] {
  let room = length;
  let left = texts.length;
  const parts: string[] = [];
  for (const [index, text] of [...texts.entries()].sort(([, one], [, other]) => one.length - other.length)) {
    // The name of a file stays whole.
    const file = FILE.test(text) ? text.length - Math.max(0, text.lastIndexOf('/')) : 0;
    const least = Math.max(SHORTEST, Math.min(file + 1, LONGEST_FILE));
    const limit = Math.max(least, Math.floor(room / left));
    parts[index] = cutLine(text, limit, share);
    room -= Math.min(limit, text.length);
    left--;
  }
  return parts;
}
