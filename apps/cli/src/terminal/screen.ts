import { columnsOf, rowsOf } from './columns.js';
import { AS_IT_IS, type LineFormat } from './markdown.js';

/** A stream that may be a terminal. */
export type Output = NodeJS.WritableStream & {
  readonly isTTY?: boolean;
  readonly columns?: number;
  readonly rows?: number;
};

/** The rows below the output, and the cursor position in them. */
export interface Footer {
  readonly rows: readonly string[];
  readonly row: number;
  readonly column: number;
}

const NO_FOOTER: Footer = { rows: [], row: 0, column: 0 };
const ESC = '\u001B[';
/**
 * Escape sequences that disable and enable line wrapping. Too wide rows are cut off, so that a misjudged width does not shift the layout.
 */
const [CUT, WRAP] = [`${ESC}?7l`, `${ESC}?7h`];
/** Escape sequences for synchronized output: terminals that support them show all changes in between at once. */
const [BEGIN, END] = [`${ESC}?2026h`, `${ESC}?2026l`];

/**
 * A terminal whose last rows are a footer. Output goes above the footer, which is redrawn below it. A stream that is not a terminal has no
 * footer.
 */
export class Screen {
  readonly #output: Output;
  readonly #footer: (columns: number, rows: number) => Footer;
  /** The unfinished last line of the output. */
  #line = '';
  /** The rows of the unfinished line. Text that is added to the line changes only the last row. */
  #open: string[] = [];
  #drawn = NO_FOOTER;
  #format: LineFormat = AS_IT_IS;

  constructor(output: Output, footer: (columns: number, rows: number) => Footer) {
    this.#output = output;
    this.#footer = footer;
    if (this.isTerminal) output.on('resize', this.#resized);
  }

  get isTerminal(): boolean {
    return this.#output.isTTY === true;
  }

  /** @param format Formats each line once it is complete. Another format ends the one before. */
  write(text: string, format: LineFormat = AS_IT_IS): void {
    if (!this.isTerminal) {
      this.#output.write(text);
      return;
    }
    const [first = '', ...others] = text.split('\n');
    const lines = [this.#line + first, ...others];
    this.#line = lines.pop() ?? '';
    if (lines.length > 0) this.#open = [];
    const added = rowsOf((this.#open.pop() ?? '') + (others.at(-1) ?? first), this.#columns);
    for (const row of added) this.#open.push(row);
    const held = format === this.#format ? undefined : this.#format.end?.();
    this.#format = format;
    const shown = [...(held ?? []), ...lines.flatMap((line) => format(line))];
    const rows = shown.flatMap((line) => rowsOf(line, this.#columns));
    this.#draw(rows.map((row) => `${row}\n`).join(''));
  }

  /** Redraws the footer. */
  readonly refresh = (): void => {
    if (this.isTerminal) this.#draw('');
  };

  /** Removes the footer. */
  close(): void {
    if (!this.isTerminal) return;
    this.#output.off('resize', this.#resized);
    this.#draw(this.#line === '' ? '' : `${this.#line}\n`, NO_FOOTER);
    this.#line = '';
  }

  readonly #resized = (): void => {
    this.#open = [...rowsOf(this.#line, this.#columns)];
    this.refresh();
  };

  get #columns(): number {
    return Math.max(10, this.#output.columns ?? 80);
  }

  #draw(text: string, footer?: Footer): void {
    const { rows, row, column } = footer ?? this.#withLine();
    const up = (count: number) => (count > 0 ? `${ESC}${count}A` : '');
    const erase = `${up(this.#height())}\r${ESC}J`;
    const right = column > 0 ? `${ESC}${column}C` : '';
    const back = rows.length === 0 ? '' : `${up(rows.length - 1 - row)}\r${right}`;
    this.#output.write(`${BEGIN}${erase}${text}${CUT}${rows.join('\n')}${WRAP}${back}${END}`);
    this.#drawn = { rows, row, column };
  }

  #withLine(): Footer {
    const height = this.#output.rows ?? 24;
    const { rows, row, column } = this.#footer(this.#columns, height);
    if (this.#line === '') return { rows, row, column };
    const open = this.#open.slice(-Math.max(1, height - rows.length - 1));
    return { rows: [...open, ...rows], row: row + open.length, column };
  }

  /** Returns the number of footer rows above the cursor. A narrowed terminal has wrapped them. */
  #height(): number {
    const { rows, row, column } = this.#drawn;
    const above = rows.slice(0, row).map((each) => Math.max(1, Math.ceil(columnsOf(each) / this.#columns)));
    return above.reduce((sum, height) => sum + height, Math.floor(column / (this.#columns + 1)));
  }
}
