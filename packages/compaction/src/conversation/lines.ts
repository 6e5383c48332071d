import { atOnce, headOf, type Work } from '@x/core/internal';

/** Whatever a reader may take for the end of a line: no text may go on behind it without its mark. */
// biome-ignore lint/suspicious/noControlCharactersInRegex: separators of files, groups and records end lines, too
export const LINE_BREAK = /\r\n?|[\n\v\f\x1c-\x1e\u0085\u2028\u2029]/g;

/** UTF-16 units of a line that are looked at and shown. */
const LONGEST = 200;
/** So many lines a text must have for one of them to be odd among them. */
const FEWEST = 40;
/** Where more lines than this share are odd, none is: prose and programs have no two lines alike. */
const SHARE = 0.03;
/** Lines that are told of at most. */
const MOST = 12;
/** Lines between two moments at which the work may rest. */
const LINES_A_PIECE = 1_000;
/** What stands around odd lines where others are left out. */
const FRAME = 60;
/** A word with a digit in it: what differs from row to row. */
const COUNTED = /(?<![\p{L}\p{N}\p{M}_])[\p{L}\p{M}_]*\p{N}[\p{L}\p{N}\p{M}_]*/gu;
/** The same in ASCII, where it is found several times as fast. */
const ASCII_COUNTED = /\b[A-Za-z_]*\d\w*/g;
const IS_ASCII = /^[\0-\x7f]*$/;

/** The line with one sign for each word that has a digit in it: rows of one kind have one shape. */
export function shapeOf(line: string): string {
  return line.replaceAll(IS_ASCII.test(line) ? ASCII_COUNTED : COUNTED, '0').trim();
}

/** A line, and where it begins. */
export interface OddLine {
  readonly at: number;
  readonly text: string;
}

/**
 * Finds the lines of a text that are like no other of it, numbers and ids aside: the one error among thousands of rows that
 * all is well. None in a text whose lines differ anyway.
 */
export function oddLines(text: string): readonly OddLine[] {
  return atOnce(oddLinesWork(text));
}

/** The same as work that may be done in pieces. */
export function* oddLinesWork(text: string): Work<readonly OddLine[]> {
  // Most texts are short: no line of them need be looked at.
  let breaks = 0;
  for (let at = text.indexOf('\n'); at !== -1 && ++breaks < FEWEST - 1; ) at = text.indexOf('\n', at + 1);
  if (breaks < FEWEST - 1) return [];
  const shapes = new Map<string, OddLine | undefined>();
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    const next = text.indexOf('\n', at);
    const end = next === -1 ? text.length : next;
    if (lines % LINES_A_PIECE === 0) yield;
    const line = headOf(text.slice(at, Math.min(end, at + LONGEST + 1)), LONGEST);
    const shape = shapeOf(line);
    if (shape !== '') {
      lines++;
      shapes.set(shape, shapes.has(shape) ? undefined : { at, text: line });
    }
    at = end + 1;
  }
  if (lines < FEWEST) return [];
  const odd = [...shapes.values()].filter((line) => line !== undefined);
  return odd.length <= lines * SHARE ? odd.slice(0, MOST) : [];
}

/** So many equal lines in a row stand as one with their number. */
const RUN = 3;

/**
 * Writes lines of a text that follow each other in the same words as one line, with their number behind it: as work that may be done
 * in pieces. Returns the very text where no lines repeat.
 */
export function* countedText(text: string): Work<string> {
  const parts: string[] = [];
  let copied = 0;
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    if (++lines % LINES_A_PIECE === 0) yield;
    const found = text.indexOf('\n', at);
    const line = found === -1 ? text.slice(at) : text.slice(at, found);
    let [end, count] = [at + line.length, 1];
    while (text.startsWith(line, end + 1) && isLineEnd(text, end + 1 + line.length)) {
      end += line.length + 1;
      if (++count % LINES_A_PIECE === 0) yield;
    }
    if (count >= RUN) {
      parts.push(text.slice(copied, at), runOf(line, count));
      copied = end;
    }
    at = end + 1;
  }
  return parts.length === 0 ? text : parts.join('') + text.slice(copied);
}

function isLineEnd(text: string, at: number): boolean {
  return at <= text.length && (at === text.length || text[at] === '\n');
}

function runOf(line: string, count: number): string {
  return line.trim() === '' ? '' : `${line.trimEnd()} (×${count})`;
}

/**
 * The lines that {@link oddLines} finds between two places of a text, as many as `most` UTF-16 units hold, to stand where the
 * others are left out; none is ''.
 */
export function oddBetween(odd: readonly OddLine[], start: number, end: number, most: number): string {
  let left = most - FRAME;
  const between = odd.filter(({ at, text }) => {
    if (at < start || at >= end) return false;
    left -= text.length + 1;
    return left >= 0;
  });
  if (between.length === 0) return '';
  return `[Among what is left out, like no other line:]\n${between.map(({ text }) => text).join('\n')}\n[…]\n`;
}
