import type { TokenCounter } from './count-tokens.js';
import {
  CAPITAL,
  characterKinds,
  DIGIT,
  DRAWING,
  FIRST_SCRIPT,
  HAN,
  joinedTokens,
  LETTER_MASK,
  NEWLINE,
  PUNCTUATION,
  RULER,
  SCRIPTS,
  SMALL,
  SPACE,
  SYMBOL,
  TRADITIONAL_HAN,
  TRADITIONAL_PER_CHARACTER,
} from './estimate-characters.js';
import { letterPairs, pairIndex } from './estimate-letter-pairs.js';

/**
 * Estimates the tokens of o200k_base without its vocabulary, in one pass over the text. It splits as o200k_base does (a
 * word with the character before it, digits in threes, runs of punctuation, white space up to the last line break) and
 * prices each piece by its script, its letter pairs and its length.
 *
 * Within 20 % on texts of some hundred characters in all common scripts, in source code, JSON, logs and encoded bytes;
 * mostly within 10 %. Never 0 for a text that is not empty. Use `tiktokenCounter` of `@x/compaction/tiktoken` for exact counts.
 *
 * @example
 * ```ts
 * const tokens = countMessages(estimateCounter, state.context);
 * ```
 */
export const estimateCounter: TokenCounter = {
  name: 'estimate',
  count: (text) => (text === '' ? 0 : Math.max(1, Math.round(new Estimate(text).run()))),
};

/** Tokens of a word before its letter pairs are added. A word behind a space is more often one token. */
const WORD_AFTER_SPACE = 0.4;
const WORD = 0.6;
/** Letter pairs of words with two capitals or more are torn apart that much more often. */
const CAPITALS_FACTOR = 2;
/** Each letter of a run of the same letter, from the third on. */
const REPEATED_LETTER = 1 / 4;
/** Each further character of a piece of punctuation, by its relation to the one before. */
const OTHER_PUNCTUATION = 0.1;
const SAME_PUNCTUATION = 1 / 5;
const SAME_RULER = 1 / 48;
const SAME_DRAWING = 1 / 12;
/** Each further character of a piece of white space. */
const OTHER_BLANK = 0.3;
const SAME_BLANK = 1 / 12;
const SAME_SPACE = 1 / 80;

const SLASH = 0x2f;
const APOSTROPHE = 0x27;
const CARRIAGE_RETURN = 0x0d;

interface Tables {
  readonly kinds: Uint8Array;
  readonly pairs: Float32Array;
  readonly joined: Float32Array;
}
let tables: Tables | undefined;

/** One run over one text. */
class Estimate {
  readonly #text: string;
  readonly #kinds: Uint8Array;
  readonly #pairs: Float32Array;
  readonly #joined: Float32Array;
  #position = 0;
  #tokens = 0;

  constructor(text: string) {
    // Made when first used: an import should cost nothing.
    tables ??= { kinds: characterKinds(), pairs: letterPairs(), joined: joinedTokens() };
    this.#text = text;
    this.#kinds = tables.kinds;
    this.#pairs = tables.pairs;
    this.#joined = tables.joined;
  }

  run(): number {
    const end = this.#text.length;
    while (this.#position < end) {
      const kind = this.#kindAt(this.#position);
      if (kind >= SMALL) this.#word(WORD);
      else if (kind >= FIRST_SCRIPT) this.#script(kind);
      else if (kind >= SPACE) this.#whiteSpace();
      else if (kind === DIGIT) this.#digits();
      else this.#punctuation(this.#position);
    }
    return this.#tokens;
  }

  /** The kind of the unit there; `NEWLINE` behind the end, which ends every piece but white space. */
  #kindAt(position: number): number {
    return position < this.#text.length ? (this.#kinds[this.#text.charCodeAt(position)] as number) : NEWLINE;
  }

  /** Capitals, then small letters: `Word`, `word`, `HTMLWord`, `WORD`; then `'s` and its kin. */
  #word(start: number): void {
    let position = this.#position;
    let kind = this.#kindAt(position);
    let capitals = 0;
    let torn = 0;
    let before = -1;
    let previous = -1;
    while (kind >= SMALL) {
      if (kind >= CAPITAL) {
        if (capitals < position - this.#position) break;
        capitals++;
      }
      if (previous >= 0) torn += this.#pairTokens(before, previous, kind);
      before = previous;
      previous = kind;
      kind = this.#kindAt(++position);
    }
    this.#tokens += Math.max(1, start + torn * (capitals > 1 ? CAPITALS_FACTOR : 1));
    this.#position = position + contractionLength(this.#text, position);
  }

  #pairTokens(before: number, previous: number, kind: number): number {
    if (kind === previous && kind === before) return REPEATED_LETTER;
    return this.#pairs[pairIndex(previous & LETTER_MASK, kind & LETTER_MASK)] as number;
  }

  /** A run of one script, without regard to what stands before it. */
  #script(kind: number): void {
    const script = kind === TRADITIONAL_HAN ? HAN : kind;
    let position = this.#position;
    let traditional = false;
    for (let next = kind; next === script || next === TRADITIONAL_HAN; next = this.#kindAt(++position)) {
      if (next === TRADITIONAL_HAN) {
        if (script !== HAN) break;
        traditional = true;
      }
    }
    const rate = SCRIPTS[script - FIRST_SCRIPT];
    if (rate !== undefined) {
      const perCharacter = traditional ? TRADITIONAL_PER_CHARACTER : rate.perCharacter;
      this.#tokens += Math.max(1, rate.base + perCharacter * (position - this.#position));
    }
    this.#position = position;
  }

  #digits(): void {
    const start = this.#position;
    let position = start + 1;
    while (this.#kindAt(position) === DIGIT) position++;
    this.#tokens += Math.ceil((position - start) / 3);
    this.#position = position;
  }

  /** Up to the last line break of the run; then all but its last character, which may join the next piece. */
  #whiteSpace(): void {
    const { length } = this.#text;
    let end = this.#position;
    let lineBreak = -1;
    for (; end < length; end++) {
      const kind = this.#kindAt(end);
      if (kind < SPACE || kind > NEWLINE) break;
      if (kind === NEWLINE) lineBreak = end;
    }
    if (lineBreak >= 0) this.#blankPiece(lineBreak + 1);
    if (end === length) this.#blankPiece(end);
    if (this.#position === end) return;
    this.#blankPiece(end - 1);

    const last = this.#kindAt(end - 1);
    const next = this.#kindAt(end);
    this.#position = end;
    if (next >= SMALL) this.#word(last === SPACE ? WORD_AFTER_SPACE : WORD);
    else if (next >= FIRST_SCRIPT) this.#script(next);
    else if (next !== DIGIT && last === SPACE) this.#punctuation(end - 1);
    else this.#tokens += 1;
  }

  /** A piece of white space up to `end`, if there is anything of it. */
  #blankPiece(end: number): void {
    if (end <= this.#position) return;
    let tokens = 1;
    let previous = this.#text.charCodeAt(this.#position);
    for (let position = this.#position + 1; position < end; position++) {
      const unit = this.#text.charCodeAt(position);
      const kind = this.#kinds[unit];
      if (unit === previous) tokens += kind === SPACE ? SAME_SPACE : SAME_BLANK;
      else if (kind !== NEWLINE || previous !== CARRIAGE_RETURN) tokens += OTHER_BLANK;
      previous = unit;
    }
    this.#tokens += tokens;
    this.#position = end;
  }

  /** A run that begins at `start`, maybe with a space; or one character of ASCII that joins the word behind it. */
  #punctuation(start: number): void {
    let position = this.#position;
    const first = this.#kindAt(position);
    if (start === position && first >= PUNCTUATION && this.#kindAt(position + 1) >= FIRST_SCRIPT) {
      // With a single letter it is one token: `(x`, `-v`, the `\n` of an escaped text.
      const single = this.#kindAt(position + 2) < SMALL;
      if (!single) this.#tokens += this.#joined[this.#text.charCodeAt(position)] as number;
      this.#position = position + 1;
      return;
    }
    let previous = -1;
    for (let kind = first; kind <= RULER; kind = this.#kindAt(++position)) {
      const unit = this.#text.charCodeAt(position);
      this.#tokens += punctuationTokens(kind, unit === previous, previous < 0);
      previous = unit;
    }
    // Line breaks and slashes behind it belong to it.
    const end = position;
    while (position < this.#text.length && isTail(this.#text.charCodeAt(position))) position++;
    if (position - end > 1) this.#tokens += (position - end - 1) * SAME_BLANK;
    this.#position = position;
  }
}

function punctuationTokens(kind: number, same: boolean, first: boolean): number {
  if (first || kind === SYMBOL) return 1;
  if (kind === DRAWING) return same ? SAME_DRAWING : 1;
  if (same) return kind === RULER ? SAME_RULER : SAME_PUNCTUATION;
  return OTHER_PUNCTUATION;
}

function isTail(unit: number): boolean {
  return unit === 0x0a || unit === CARRIAGE_RETURN || unit === SLASH;
}

/** The length of `'s`, `'t`, `'m`, `'d`, `'re`, `'ve` or `'ll` at `position`, else 0. */
function contractionLength(text: string, position: number): number {
  if (text.charCodeAt(position) !== APOSTROPHE) return 0;
  const first = text.charAt(position + 1).toLowerCase();
  if (first !== '' && 'stmd'.includes(first)) return 2;
  const both = first + text.charAt(position + 2).toLowerCase();
  return both === 're' || both === 've' || both === 'll' ? 3 : 0;
}
