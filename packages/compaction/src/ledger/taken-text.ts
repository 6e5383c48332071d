/** Units that are looked at together, and the bits of each that are: the same for a letter and its capital. */
const UNITS = 4;
const UNIT_BITS = 5;
const UNIT = (1 << UNIT_BITS) - 1;
const WINDOW = (1 << (UNITS * UNIT_BITS)) - 1;
const TABLE_BITS = 16;

/**
 * A text that grows, to be searched for many short ones: of most of them it knows without a search that they are not in
 * it, because no part of it has four such characters in a row.
 */
export class TakenText {
  readonly #runs = new Uint8Array(1 << TABLE_BITS);
  #text = '';
  #window = 0;

  add(text: string): void {
    this.#text += text;
    let window = this.#window;
    for (let index = 0; index < text.length; index++) {
      window = shifted(window, text.charCodeAt(index));
      this.#runs[placeOf(window)] = 1;
    }
    this.#window = window;
  }

  includes(text: string): boolean {
    let window = 0;
    for (let index = 0; index < text.length; index++) {
      window = shifted(window, text.charCodeAt(index));
      if (index >= UNITS - 1 && this.#runs[placeOf(window)] === 0) return false;
    }
    return this.#text.includes(text);
  }
}

function shifted(window: number, code: number): number {
  return ((window << UNIT_BITS) | (code & UNIT)) & WINDOW;
}

function placeOf(window: number): number {
  return Math.imul(window, 0x9e3779b1) >>> (32 - TABLE_BITS);
}
