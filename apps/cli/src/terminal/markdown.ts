import { stripVTControlCharacters } from 'node:util';
import { Lexer, type Token } from 'marked';
import { columnsOf, rowsOf } from './columns.js';
import { PLAIN, type Style } from './style.js';

/** Formats of parts of a line, by their type. */
const FORMATS: Readonly<Record<string, Parameters<Style>[0]>> = {
  strong: 'bold',
  em: 'italic',
  codespan: 'cyan',
};

/** Matches a character that may begin or end a format. */
const MARK = /[!*<[_`~]/;
/** Maximum UTF-16 units and marks of a line that is formatted. The time to parse a line grows with the square of both. */
const [MAX_LINE, MAX_MARKS] = [1_000, 60];

/** Formats the lines of one answer, in their order. */
export interface LineFormat {
  /** Returns the rows for a complete line: none for a fence, and those of a table only after its last line. */
  (line: string): readonly string[];
  /** Returns the rows of a table that other output interrupts. */
  end?(): readonly string[];
}

/** Formats nothing. */
export const AS_IT_IS: LineFormat = (line) => [line];

/**
 * Returns a format for the lines of one answer. Tables are aligned to fit the columns, and code is indented, without its fences. Without
 * colors, Markdown stays as it is.
 */
export function markdownLines(style: Style, columns = () => 80): LineFormat {
  if (style === PLAIN) return AS_IT_IS;
  let isCode = false;
  const table: string[] = [];
  const inline = (tokens: readonly Token[] = []): string =>
    tokens
      .map((token) => {
        if (token.type === 'link' && token.raw.startsWith('['))
          return `${inline(token.tokens)} (${style('underline', token.href)})`;
        const format = FORMATS[token.type];
        if (format === undefined) return token.raw;
        return style(format, 'tokens' in token ? inline(token.tokens) : 'text' in token ? token.text : '');
      })
      .join('');
  const formatted = (line: string) => {
    if (line.length > MAX_LINE || line.split(MARK).length > MAX_MARKS + 1) return line;
    const [heading = ''] = /^#{1,6} /.exec(line) ?? [];
    const text = inline(Lexer.lexInline(line.slice(heading.length)));
    return heading === '' ? text : style('bold', text);
  };
  const end = () => {
    const lines = table.splice(0);
    if (!/^[\s:|-]+$/.test(lines[1] ?? '')) return lines.map(formatted);
    lines.splice(1, 1);
    const cells = lines.map((line) => cellsOf(line).map(formatted));
    return tableRows(cells, columns());
  };
  const next = (line: string) => {
    const isFence = line.trimStart().startsWith('```');
    if (isFence) isCode = !isCode;
    else if (isCode) return [style('cyan', `  ${line}`)];
    else if (line.startsWith('|') && table.length < MAX_TABLE) {
      table.push(line);
      return [];
    }
    return isFence ? end() : [...end(), formatted(line)];
  };
  return Object.assign(next, { end });
}

/** Maximum lines of a table that are aligned. */
const MAX_TABLE = 500;
/** Separator between the columns of a table. */
const GAP = '  ';

/** Splits a line of a table. */
function cellsOf(line: string): readonly string[] {
  const cells = line
    .trim()
    .slice(1)
    .split(/(?<!\\)\|/);
  if (cells.at(-1) === '') cells.pop();
  return cells.map((cell) => cell.trim().replaceAll('\\|', '|'));
}

/** Returns the rows of a table. If the table is too wide, cells of the widest columns take several rows. */
function tableRows(cells: readonly (readonly string[])[], columns: number): readonly string[] {
  const needed = (cells[0] ?? []).map((_, at) => Math.max(...cells.map((row) => columnsOf(row[at] ?? ''))));
  let most = columns;
  const widths = () => needed.map((width) => Math.min(width, most));
  while (
    most > 1 &&
    columnsOf(
      widths()
        .map((width) => ' '.repeat(width))
        .join(GAP),
    ) > columns
  )
    most--;
  return cells.flatMap((row) => {
    const parts = widths().map((width, at) => {
      const cell = row[at] ?? '';
      const rows = columnsOf(cell) <= width ? [cell] : rowsOf(stripVTControlCharacters(cell), width);
      return { rows, width };
    });
    return Array.from({ length: Math.max(...parts.map(({ rows }) => rows.length)) }, (_, part) => {
      const texts = parts.map(
        ({ rows: { [part]: text = '' }, width }) => text + ' '.repeat(Math.max(0, width - columnsOf(text))),
      );
      return texts.join(GAP).trimEnd();
    });
  });
}
