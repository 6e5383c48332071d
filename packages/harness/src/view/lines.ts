import type { ToolResultBlock } from '@x/core';
import { printable } from './printable.js';

/** One line of text for display. */
export interface RenderedLine {
  /** `+` for an added line, `-` for a removed one, `…` for a note such as "118 more lines"; empty for any other line. */
  readonly mark: '' | '+' | '-' | '…';
  readonly text: string;
}

/** Number of unchanged lines to show before and after a change. */
const AROUND = 2;
/** Maximum number of removed lines to show per change. The new lines follow below them. */
const MOST_REMOVED = 8;
/**
 * Maximum number of line pairs to compare. In larger texts, everything between the first and the last change counts as
 * changed.
 */
const MOST_PAIRS = 1_000_000;
/** Maximum length of a result's line in UTF-16 units. */
const MOST_WIDTH = 2_000;

/** Splits a text into lines. A trailing line break does not start another line, and an empty text has no lines. */
function linesOf(text: string): readonly string[] {
  return text === ''
    ? []
    : printable(text)
        .replace(/\r?\n$/, '')
        .split(/\r?\n/);
}

/** Renders a text as lines without marks. */
export function plainLines(text: string): readonly RenderedLine[] {
  return linesOf(text).map((line) => ({ mark: '', text: line }));
}

/**
 * Compares two texts line by line. Shows two unchanged lines before and after each change. Where the texts differ in their line ends,
 * `\u{d}` is a carriage return at the end of a line, and `\u{a}` the line break at the end of only one text.
 *
 * @example
 * ```ts
 * import { renderDiff } from '@x/harness/view';
 *
 * for (const { mark, text } of renderDiff('one\ntwo\n', 'one\nthree\n')) console.log(`${mark || ' '} ${text}`);
 * ```
 */
export function renderDiff(before: string, after: string): readonly RenderedLine[] {
  const [old = [], now = []] = withLineEnds([before, after]).map(linesOf);
  const all = changes(old, now);
  const near = new Set<number>();
  for (const [index, { mark }] of all.entries())
    if (mark !== '') for (let at = index - AROUND; at <= index + AROUND; at++) near.add(at);
  const lines: RenderedLine[] = [];
  let hidden: RenderedLine[] = [];
  let removed = 0;
  const close = () => {
    const [first] = hidden;
    const words = `${hidden.length} ${first?.mark === '-' ? 'more removed' : 'unchanged'} ${hidden.length === 1 ? 'line' : 'lines'}`;
    if (first) lines.push({ mark: '…', text: words });
    hidden = [];
  };
  for (const [index, line] of all.entries()) {
    removed = line.mark === '-' ? removed + 1 : 0;
    const isHidden = removed > MOST_REMOVED || !near.has(index);
    if (!isHidden || hidden[0]?.mark !== line.mark) close();
    (isHidden ? hidden : lines).push(line);
  }
  close();
  return lines;
}

/** Spells out the line ends in which texts differ, so that a change of them is a change of a line. */
function withLineEnds(texts: readonly string[]): readonly string[] {
  const ends = new Set(texts.flatMap((text) => text.match(/\r?\n/g) ?? []));
  const isEnded = new Set(texts.filter(Boolean).map((text) => text.endsWith('\n')));
  return texts.map((text) => {
    const spelled = isEnded.size > 1 ? text.replace(/\n$/, '\\u{a}') : text;
    return ends.size > 1 ? spelled.replaceAll('\r\n', '\\u{d}\n') : spelled;
  });
}

/** Marks each line of two texts as removed, added or kept, in order. */
function changes(old: readonly string[], now: readonly string[]): readonly RenderedLine[] {
  const shortest = Math.min(old.length, now.length);
  let head = 0;
  while (head < shortest && old[head] === now[head]) head++;
  let tail = 0;
  while (tail < shortest - head && old.at(-1 - tail) === now.at(-1 - tail)) tail++;
  const as = (mark: RenderedLine['mark']) => (text: string) => ({ mark, text });
  return [
    ...old.slice(0, head).map(as('')),
    ...between(old.slice(head, old.length - tail), now.slice(head, now.length - tail)),
    ...old.slice(old.length - tail).map(as('')),
  ];
}

/** Compares the lines between a common beginning and end, by their longest common subsequence. */
function between(old: readonly string[], now: readonly string[]): readonly RenderedLine[] {
  const lines: RenderedLine[] = [];
  const width = now.length + 1;
  let [row, column] = [0, 0];
  if (old.length * now.length <= MOST_PAIRS) {
    // Length of the longest common subsequence of both remainders, by row and column.
    const common = new Uint32Array((old.length + 1) * width);
    const at = (i: number, j: number) => common[i * width + j] ?? 0;
    for (let i = old.length - 1; i >= 0; i--)
      for (let j = now.length - 1; j >= 0; j--)
        common[i * width + j] =
          old[i] === now[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1));
    while (row < old.length && column < now.length) {
      const [before = '', after = ''] = [old[row], now[column]];
      const isSame = before === after;
      const isRemoved = !isSame && at(row + 1, column) >= at(row, column + 1);
      lines.push({ mark: isSame ? '' : isRemoved ? '-' : '+', text: isSame || isRemoved ? before : after });
      if (isSame || isRemoved) row++;
      if (!isRemoved) column++;
    }
  }
  for (const text of old.slice(row)) lines.push({ mark: '-', text });
  for (const text of now.slice(column)) lines.push({ mark: '+', text });
  return lines;
}

/**
 * Renders a tool result: its first and last lines, and the number of lines in between. Content other than text appears
 * as its file name or media type.
 *
 * @param options Numbers of lines to show: `head`, default 8, and `tail`, default 4.
 */
export function renderResult(
  { output }: Pick<ToolResultBlock, 'output'>,
  { head = 8, tail = 4 }: { readonly head?: number; readonly tail?: number } = {},
): readonly RenderedLine[] {
  const text = output.map((block) =>
    block.type === 'text' ? block.text : `[${block.filename ?? block.mediaType}]`,
  );
  const lines = linesOf(text.join('\n'));
  const more = lines.length - head - tail;
  const shown = (part: readonly string[]) =>
    part.map((line): RenderedLine => ({ mark: '', text: narrow(line) }));
  // A note about one omitted line would take as much space as the line.
  if (more <= 1) return shown(lines);
  const gap: RenderedLine = { mark: '…', text: `${more} more lines` };
  return [...shown(lines.slice(0, head)), gap, ...shown(tail > 0 ? lines.slice(-tail) : [])];
}

function narrow(line: string): string {
  if (line.length <= MOST_WIDTH) return line;
  return `${line.slice(0, MOST_WIDTH / 2)} … ${line.length - MOST_WIDTH} characters … ${line.slice(-MOST_WIDTH / 2)}`;
}
