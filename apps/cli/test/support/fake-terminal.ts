import { columnsOf } from '../../src/terminal/columns.js';

const SEQUENCE = new RegExp(`${'\u001B'}\\[([?\\d;]*)([A-Za-z])`, 'y');

/** What a person sees of a terminal: enough of one for what `x run` writes. */
export class FakeTerminal {
  readonly #columns: number;
  readonly #rows: number;
  /** All lines, those that were scrolled away first. A cell holds a character, or nothing behind a wide one. */
  readonly #lines: string[][] = [[]];
  #row = 0;
  #column = 0;
  #wraps = true;

  constructor(columns = 80, rows = 24) {
    this.#columns = columns;
    this.#rows = rows;
  }

  write(text: string): void {
    for (let at = 0; at < text.length; ) {
      SEQUENCE.lastIndex = at;
      const found = SEQUENCE.exec(text);
      if (found) {
        this.#control(found[2] as string, found[1] as string);
        at = SEQUENCE.lastIndex;
        continue;
      }
      const char = String.fromCodePoint(text.codePointAt(at) as number);
      at += char.length;
      if (char === '\r') this.#column = 0;
      else if (char === '\n') this.#newLine();
      else this.#put(char);
    }
  }

  /** Every line, also those above the screen. */
  get text(): string {
    return this.#lines.map((line) => line.join('').trimEnd()).join('\n');
  }

  /** The line of the cursor up to it. */
  get typed(): string {
    return (this.#lines[this.#row] ?? []).slice(0, this.#column).join('');
  }

  get #top(): number {
    return Math.max(0, this.#lines.length - this.#rows);
  }

  #newLine(): void {
    this.#column = 0;
    this.#row++;
    if (this.#row === this.#lines.length) this.#lines.push([]);
  }

  #put(char: string): void {
    const width = columnsOf(char);
    if (this.#column + width > this.#columns) {
      if (this.#wraps) this.#newLine();
      else this.#column = this.#columns - width;
    }
    const line = this.#lines[this.#row] as string[];
    while (line.length < this.#column) line.push(' ');
    line.splice(this.#column, Math.max(1, width), char, ...Array<string>(Math.max(0, width - 1)).fill(''));
    this.#column += width;
  }

  #control(name: string, values: string): void {
    const count = Number(values) || 1;
    if (name === 'A') this.#row = Math.max(this.#top, this.#row - count);
    else if (name === 'C') this.#column = Math.min(this.#columns - 1, this.#column + count);
    else if (name === 'J') {
      this.#lines.splice(this.#row + 1);
      (this.#lines[this.#row] as string[]).splice(this.#column);
    } else if (values === '?7') this.#wraps = name === 'h';
  }
}
