import { atOnce, hasPlainWords, headOf, type Work } from '@x/core/internal';

/** Maximum UTF-16 units of a line that are compared and shown. */
const LONGEST = 200;
/** Minimum number of lines of a text that can have odd lines. */
const FEWEST = 40;
/** Maximum share of odd lines. With more, no line counts as odd, because all lines of prose and programs differ. */
const SHARE = 0.03;
/** Maximum number of odd lines. */
const MOST = 12;
/** Number of lines between two yields. */
const LINES_A_PIECE = 1_000;
/** UTF-16 units reserved for the text around odd lines. */
const FRAME = 60;
/** Matches a word with a digit, which usually differs from row to row. */
const COUNTED = /(?<![\p{L}\p{N}\p{M}_])[\p{L}\p{M}_]*\p{N}[\p{L}\p{N}\p{M}_]*/gu;
/** Like `COUNTED`, for plain words. It is several times as fast. */
const PLAIN_COUNTED = /\b[A-Za-z_]*\d\w*/g;

/** Masks each word that has a digit. Rows of the same kind have the same shape. */
export function shapeOf(line: string): string {
  if (!/\p{N}/u.test(line)) return line.trim();
  return line.replaceAll(hasPlainWords(line) ? PLAIN_COUNTED : COUNTED, '0').trim();
}

/** Returns the offset of the end of the line that begins at `start`. */
export function lineEnd(text: string, start: number): number {
  const end = text.indexOf('\n', start);
  return end === -1 ? text.length : end;
}

/** A line with its start offset. */
export interface OddLine {
  readonly at: number;
  readonly text: string;
}

/**
 * Finds the odd lines of a text: those that differ from all others, ignoring numbers and ids, such as one error among
 * thousands of ordinary rows. Returns none for a text whose lines mostly differ.
 */
export function oddLines(text: string): readonly OddLine[] {
  return atOnce(oddLinesWork(text));
}

/** Does the work of {@link oddLines} in steps. */
export function* oddLinesWork(text: string): Work<readonly OddLine[]> {
  let left = 1;
  for (let at = text.indexOf('\n'); at !== -1; at = text.indexOf('\n', at + 1)) left++;
  if (left < FEWEST) return [];
  const shapes = new Map<string, OddLine | undefined>();
  let lines = 0;
  let odd = 0;
  for (let at = 0; at < text.length; left--) {
    // Even if each line that is left equals one of them, too many would be odd.
    if (odd - left > (lines + left) * SHARE) return [];
    const end = lineEnd(text, at);
    if (lines % LINES_A_PIECE === 0) yield;
    const line = headOf(text.slice(at, Math.min(end, at + LONGEST + 1)), LONGEST);
    const shape = shapeOf(line);
    if (shape !== '') {
      lines++;
      const isNew = !shapes.has(shape);
      if (isNew || shapes.get(shape)) odd += isNew ? 1 : -1;
      shapes.set(shape, isNew ? { at, text: line } : undefined);
    }
    at = end + 1;
  }
  if (lines < FEWEST || odd > lines * SHARE) return [];
  return [...shapes.values()].filter((line) => line !== undefined).slice(0, MOST);
}

/** Replaces each run of consecutive lines that `isPart` accepts by the lines that `write` returns. */
export function mapRuns(
  text: string,
  isPart: (line: string, isInRun: boolean) => boolean,
  write: (run: readonly string[]) => readonly string[],
): string {
  const lines: string[] = [];
  let run: string[] = [];
  for (const line of text.split('\n')) {
    if (isPart(line, run.length > 0)) run.push(line);
    else {
      lines.push(...write(run), line);
      run = [];
    }
  }
  return [...lines, ...write(run)].join('\n');
}

/** Minimum number of consecutive equal lines that are collapsed. */
const RUN = 3;

/**
 * Collapses consecutive equal lines of a text into one line followed by their count, in steps. Returns the text unchanged if no
 * lines repeat.
 */
export function* countedText(text: string): Work<string> {
  const parts: string[] = [];
  let copied = 0;
  let lines = 0;
  for (let at = 0; at < text.length; ) {
    if (++lines % LINES_A_PIECE === 0) yield;
    const line = text.slice(at, lineEnd(text, at));
    let end = at + line.length;
    let count = 1;
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
 * Renders the odd lines between two offsets of a text, as many as fit in `most` UTF-16 units. Returns an empty string if there are
 * none.
 */
export function oddBetween(odd: readonly OddLine[], start: number, end: number, most: number): string {
  let left = most - FRAME;
  const between = odd.filter(({ at, text }) => {
    if (at < start || at >= end) return false;
    left -= text.length + 1;
    return left >= 0;
  });
  if (between.length === 0) return '';
  return `[Omitted lines that are unlike all others:]\n${between.map(({ text }) => text).join('\n')}\n[…]\n`;
}
