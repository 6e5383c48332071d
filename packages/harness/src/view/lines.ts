import type { ToolResultBlock } from '@x/core';
import { type DiffLine, diffLines } from '@x/core/internal';
import { printable } from './printable.js';

/** One line of text for display. */
export type RenderedLine = DiffLine;

/** Number of unchanged lines to show before and after a change. */
const AROUND = 2;
/** Maximum number of line pairs to compare. */
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
  return diffLines(old, now, AROUND, MOST_PAIRS);
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
