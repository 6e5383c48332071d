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
  /** Returns the rows for a complete line; `undefined` if the line is not shown, or only at the end of its table. */
  (line: string): string | undefined;
  /** Returns the rows of a table that other output interrupts. */
  end?(): string | undefined;
}

/** Formats nothing. */
export const AS_IT_IS: LineFormat = (line) => line;

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
    if (lines.length === 0) return undefined;
    const isTable = DELIMITER.test(lines[1] ?? '');
    return (isTable ? tableRows(lines, columns(), formatted, style) : lines.map(formatted)).join('\n');
  };
  const format = (line: string): string | undefined => {
    const isFence = line.trimStart().startsWith('```');
    if (isFence) isCode = !isCode;
    if (isFence) return undefined;
    return isCode ? style('cyan', `  ${line}`) : formatted(line);
  };
  const next = (line: string) => {
    if (!isCode && table.length < MAX_TABLE && /^ {0,3}\|/.test(line)) {
      table.push(line);
      return undefined;
    }
    const shown = [end(), format(line)].filter((rows) => rows !== undefined);
    return shown.length === 0 ? undefined : shown.join('\n');
  };
  return Object.assign(next, { end });
}

/** Matches the second line of a table. */
const DELIMITER = /^ {0,3}\|[\s:|-]*-[\s:|-]*$/;
/** Maximum lines of a table that are aligned. */
const MAX_TABLE = 500;
/** Stands between the columns of a table. */
const GAP = '  ';

/** Returns the rows of a table. The widest columns give way until the table fits, and their cells take several rows. */
function tableRows(
  [head = '', , ...body]: readonly string[],
  columns: number,
  formatted: (cell: string) => string,
  style: Style,
): readonly string[] {
  const cells = [head, ...body].map((line) => cellsOf(line).map(formatted));
  const widths = (cells[0] ?? []).map((_, at) =>
    Math.max(1, ...cells.map((row) => columnsOf(row[at] ?? ''))),
  );
  const room = Math.max(widths.length, columns - GAP.length * (widths.length - 1));
  for (let sum = widths.reduce((all, width) => all + width, 0); sum > room; sum--) {
    const widest = Math.max(...widths);
    widths[widths.indexOf(widest)] = widest - 1;
  }
  return cells.flatMap((row, line) => {
    const parts = widths.map((width, at) => {
      const cell = row[at] ?? '';
      return columnsOf(cell) <= width ? [cell] : rowsOf(stripVTControlCharacters(cell), width);
    });
    return Array.from({ length: Math.max(...parts.map(({ length }) => length)) }, (_, part) => {
      const padded = widths.map((width, at) => {
        const text = parts[at]?.[part] ?? '';
        return text + ' '.repeat(Math.max(0, width - columnsOf(text)));
      });
      const text = padded.join(GAP).trimEnd();
      return line === 0 ? style('bold', text) : text;
    });
  });
}

/** Splits a line of a table. */
function cellsOf(line: string): readonly string[] {
  const inner = line.trim().replace(/^\||(?<!\\)\|$/g, '');
  return inner.split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));
}
