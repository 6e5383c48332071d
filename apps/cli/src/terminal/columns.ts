import { stripVTControlCharacters } from 'node:util';

/** Characters that take two columns of a terminal. */
const WIDE =
  /[\p{Emoji_Presentation}\u1100-\u115F\u2E80-\u303E\u3041-\uA4CF\uAC00-\uD7A3\uF900-\uFAFF\uFE30-\uFE6F\uFF00-\uFF60\uFFE0-\uFFE6\u{20000}-\u{3FFFD}]/gu;
/** Characters that take no column: combining marks and joiners. */
const NO_COLUMN = /[\p{Mn}\p{Me}\p{Cf}]/gu;

/** Matches an escape code, or one character. */
const CHARACTER = /\p{Cc}\[[\d;]*m|[\s\S]/gu;

/** Counts the columns of a line, without its escape codes. */
export function columnsOf(line: string): number {
  const text = stripVTControlCharacters(line).replaceAll(NO_COLUMN, '').replaceAll(WIDE, '  ');
  return [...text].length;
}

/** Splits a text into rows of a terminal, at spaces where possible, unless `cutsWords`. */
export function rowsOf(text: string, columns: number, cutsWords = false): readonly string[] {
  return text.split('\n').flatMap((line) => {
    const rows: string[] = [];
    for (let rest = line; ; ) {
      const end = endOf(rest, columns);
      if (end === rest.length) return [...rows, rest];
      const space = cutsWords ? 0 : rest.lastIndexOf(' ', end);
      // An indent alone is not a row.
      const isWord = rest.slice(0, Math.max(0, space)).trim() !== '';
      rows.push(rest.slice(0, isWord ? space : end));
      rest = rest.slice(isWord ? space + 1 : end);
    }
  });
}

/** Shortens a line to its first row of this width, and marks the cut with "…". */
export function clip(line: string, columns: number): string {
  const [row = '', ...rest] = rowsOf(line, columns);
  return rest.length === 0 ? row : `${row} …`;
}

/** Maximum UTF-16 units per column. Without it, a row could have any number of characters that take no column. */
const MAX_UNITS = 4;

/** Returns the index at which a text has filled this many columns, or has the units of a full row. At least one character fits. */
export function endOf(text: string, columns: number): number {
  let [end, taken] = [0, 0];
  for (const [char] of text.matchAll(CHARACTER)) {
    taken += columnsOf(char);
    if ((taken > columns || end + char.length > columns * MAX_UNITS) && end > 0) break;
    end += char.length;
  }
  return end;
}
