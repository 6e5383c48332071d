/** Matches every line break that a reader may see, including Unicode ones. Quoted text must repeat its mark after each. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: separators of files, groups and records end lines, too
export const LINE_BREAK = /\r\n?|[\n\v\f\x1c-\x1e\u0085\u2028\u2029]/g;

/** Returns the first `length` UTF-16 units at most, never ending inside a surrogate pair. */
export function headOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const end = splitsPair(text, length) ? length - 1 : length;
  return text.slice(0, Math.max(0, end));
}

/** Returns the last `length` UTF-16 units at most, never beginning inside a surrogate pair. */
export function tailOf(text: string, length: number): string {
  if (text.length <= length) return text;
  const start = text.length - length;
  return text.slice(splitsPair(text, start) ? start + 1 : start);
}

/**
 * Escapes text for use between tags, so that nothing in it opens or closes one of these tags, in any spelling. Ignores invisible
 * characters. The `<` of such a tag becomes `‹`.
 */
export function escapeTags(text: string, ...tags: readonly string[]): string {
  return text.replaceAll(TAG, (sign, name: string) => {
    const plain = name.normalize('NFKD').replaceAll(UNSEEN, '').toLowerCase();
    return tags.includes(plain) ? '‹' : sign;
  });
}

/** Matches invisible and combining characters, such as joiners, direction marks and accents. */
const UNSEEN = /[\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{M}]/gu;
/** Matches characters that may be read as `<`, and the tag name after them. */
const TAG =
  /[<＜﹤](?=[\s/／⁄∕\\\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{M}]*([\w\p{L}\p{N}\p{Default_Ignorable_Code_Point}\p{Cf}\p{Cc}\p{M}]*))/gu;

/** Matches control and invisible characters, except line breaks, tabs, and the joiners of scripts and emoji. */
const UNPRINTABLE =
  /(?!\r?\n|\t|\u200C|\u200D|\uFE0F)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}\u2800]/gu;

/**
 * Escapes invisible characters and those that change the direction of text. They could make a command look like another
 * one, and control characters could overwrite the terminal. Keeps line breaks, tabs, and the joiners of scripts and
 * emoji.
 */
export function printable(text: string): string {
  return text.replaceAll(UNPRINTABLE, (char) => `\\u{${char.codePointAt(0)?.toString(16)}}`);
}

function splitsPair(text: string, index: number): boolean {
  return isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

function isHigh(unit: number): boolean {
  return unit >= 0xd800 && unit <= 0xdbff;
}

function isLow(unit: number): boolean {
  return unit >= 0xdc00 && unit <= 0xdfff;
}

/** Returns the message of an error, or the text of any other thrown value. Never throws, whatever was thrown. */
export function errorText(error: unknown): string {
  try {
    if (error === undefined || error === null) return `${error} was thrown instead of an Error`;
    const { message } = error as { readonly message?: unknown };
    return typeof message === 'string' ? message : String(error);
  } catch {
    return 'the thrown value cannot be shown as text';
  }
}

/**
 * Returns the known names that `name` may be a typo of, nearest first. Ignores case.
 *
 * @param beginning Compares with the beginnings of the names. Default false.
 */
export function nearNames(name: string, known: Iterable<string>, beginning = false): readonly string[] {
  const wanted = name.toLowerCase();
  // One typo from three characters on, two from seven. Names that differ more are different on purpose.
  const most = Math.min(2, Math.floor((wanted.length + 1) / 4));
  return [...known]
    .map((candidate) => {
      const compared = candidate.toLowerCase().slice(0, beginning ? wanted.length : undefined);
      // The distance is at least the difference in length, and costs the product of both.
      const isFar = Math.abs(compared.length - wanted.length) > most;
      return { candidate, distance: isFar ? Number.POSITIVE_INFINITY : editDistance(wanted, compared) };
    })
    .filter(({ distance }) => distance <= most)
    .sort((left, right) => left.distance - right.distance)
    .map(({ candidate }) => candidate);
}

/**
 * Counts the characters to delete, insert, replace or swap with a neighbor to turn one text into the other (optimal string alignment
 * distance).
 */
function editDistance(left: string, right: string): number {
  let beforeLast: readonly number[] = [];
  let last: readonly number[] = Array.from({ length: right.length + 1 }, (_, column) => column);
  for (let row = 1; row <= left.length; row++) {
    const current = [row];
    for (let column = 1; column <= right.length; column++) {
      const isSame = left[row - 1] === right[column - 1];
      const isSwap = left[row - 1] === right[column - 2] && left[row - 2] === right[column - 1];
      current[column] = Math.min(
        at(last, column) + 1,
        at(current, column - 1) + 1,
        at(last, column - 1) + (isSame ? 0 : 1),
        isSwap ? at(beforeLast, column - 2) + 1 : Number.POSITIVE_INFINITY,
      );
    }
    beforeLast = last;
    last = current;
  }
  return at(last, right.length);
}

function at(row: readonly number[], column: number): number {
  return row[column] ?? Number.POSITIVE_INFINITY;
}

/** Removes the thoughts at the beginning of an answer. Some servers leave them in the text, in tags. */
export function withoutThoughts(answer: string): string {
  return answer.replace(/^\s*<think>.*?<\/think>/s, '');
}
