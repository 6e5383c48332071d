import { endianness } from 'node:os';

/** What a stretch of text has in it, as bits: tells at the least cost what names it cannot hold. */
export const SIGNS = {
  slash: 1,
  dot: 2,
  digit: 4,
  underscore: 8,
  innerUpper: 16,
  foreign: 32,
  url: 64,
} as const;

const SHORTEST = 3;
const COLON = 58;
const SLASH = 47;
const LETTER = 128;
const OTHER = 256;
const UNKNOWN = 0x8000;
const LETTER_OR_NUMBER = /[\p{L}\p{N}]/u;
const DIGITS = /\p{N}/u;
const HASH_FACTOR = 0x01000193;
const BIG_ENDIAN = endianness() === 'BE';
/** Where hashes begin: not the same in every process, so that nobody can write texts whose hashes are all one. */
const HASH_SEED = Math.floor(Math.random() * 2 ** 31);

/**
 * What each UTF-16 unit is at the beginning of a stretch and inside one, 0 where it ends it. Beyond ASCII filled in as
 * units are met.
 */
const outer = new Uint16Array(65_536).fill(UNKNOWN, 128);
const inner = new Uint16Array(65_536).fill(UNKNOWN, 128);
for (let code = 0; code < 128; code++) {
  const character = String.fromCharCode(code);
  outer[code] = asciiKind(character);
  inner[code] = asciiKind(character) | (/[A-Z]/.test(character) ? SIGNS.innerUpper : 0);
}
/** What a URL goes on with beside what a name may hold. */
const IN_URL = new Set([...':?=&'].map((character) => character.charCodeAt(0)));

/**
 * Goes through texts from one stretch of at least three letters, digits and `_#@~./$+%-` to the next, plain words left
 * out, URLs as a whole. Nothing is cut out of a text before it is asked for: most of what a text holds was seen before.
 */
export class ChunkReader {
  /** Where the stretch is. */
  start = 0;
  end = 0;
  /** What is in it. */
  signs = 0;
  /** Equal for equal stretches, and seldom for others. */
  hash = 0;
  #text = '';
  /** The text as units, which are read faster than a string that is a part of another; then a 0, which ends a name. */
  #units = new Uint16Array(4_096);
  #bytes = Buffer.from(this.#units.buffer);
  #length = 0;
  #next = 0;

  /** Begins with a text. */
  open(text: string): void {
    this.#text = text;
    this.#length = text.length;
    this.#next = 0;
    if (text.length >= this.#units.length) {
      this.#units = new Uint16Array(2 * text.length);
      this.#bytes = Buffer.from(this.#units.buffer);
    }
    const written = this.#bytes.write(text, 'utf16le');
    if (BIG_ENDIAN) this.#bytes.subarray(0, written).swap16();
    this.#units[text.length] = 0;
  }

  /** Goes to the next stretch, and answers whether there is one. */
  next(): boolean {
    const units = this.#units;
    const length = this.#length;
    let index = this.#next;
    while (index < length) {
      const start = index++;
      let unit = units[start] as number;
      let signs = outer[unit] as number;
      if (signs === 0) continue;
      let hash = Math.imul(HASH_SEED ^ unit, HASH_FACTOR);
      for (; ; index++) {
        unit = units[index] as number;
        const kind = inner[unit] as number;
        if (kind === 0) break;
        signs |= kind;
        hash = Math.imul(hash ^ unit, HASH_FACTOR);
      }
      let end = index++;
      if (signs & UNKNOWN) {
        // Looked at once more when it is known what its characters are.
        for (let at = start; at < end; at++) kindOf(outer, units[at] as number);
        index = start;
        continue;
      }
      if (end - start < SHORTEST) continue;
      if (signs === LETTER) {
        if (unit !== COLON || !this.#startsUrl(start, end)) continue;
        end = this.#endOfUrl(end);
        index = end;
        signs = SIGNS.url;
        hash = this.#hashOf(start, end);
      }
      // A full stop at the end of a sentence.
      if (signs === (LETTER | SIGNS.dot) && this.#text.indexOf('.', start) === end - 1) continue;
      this.start = start;
      this.end = end;
      this.signs = signs;
      this.hash = hash;
      this.#next = index;
      return true;
    }
    this.#next = length;
    return false;
  }

  /** The stretch as a text. */
  chunk(): string {
    return this.#text.slice(this.start, this.end);
  }

  /** Whether the stretch consists of these units. */
  is(others: Uint16Array, first: number, length: number): boolean {
    const units = this.#units;
    const { start } = this;
    if (length !== this.end - start) return false;
    for (let index = 0; index < length; index++) {
      if (others[first + index] !== units[start + index]) return false;
    }
    return true;
  }

  /** Writes the units of the stretch. */
  copyTo(others: Uint16Array, first: number): void {
    const units = this.#units;
    for (let index = this.start; index < this.end; index++) {
      others[first + index - this.start] = units[index] as number;
    }
  }

  /** Whether a word is the scheme of a web address that goes on behind it. */
  #startsUrl(start: number, end: number): boolean {
    const units = this.#units;
    if (units[end + 1] !== SLASH || units[end + 2] !== SLASH) return false;
    const scheme = this.#text.slice(start, end);
    return (scheme === 'http' || scheme === 'https') && kindOf(inner, units[end + 3] as number) !== 0;
  }

  #endOfUrl(from: number): number {
    const units = this.#units;
    let index = from + 3;
    while (kindOf(inner, units[index] as number) !== 0 || IN_URL.has(units[index] as number)) index++;
    return index;
  }

  #hashOf(start: number, end: number): number {
    let hash = HASH_SEED;
    for (let index = start; index < end; index++) {
      hash = Math.imul(hash ^ (this.#units[index] as number), HASH_FACTOR);
    }
    return hash;
  }
}

function kindOf(kinds: Uint16Array, unit: number): number {
  const kind = kinds[unit] as number;
  return kind === UNKNOWN ? learn(unit) : kind;
}

function learn(unit: number): number {
  const character = String.fromCharCode(unit);
  const found = LETTER_OR_NUMBER.test(character)
    ? SIGNS.foreign | (DIGITS.test(character) ? SIGNS.digit : LETTER)
    : 0;
  outer[unit] = found;
  inner[unit] = found;
  return found;
}

function asciiKind(character: string): number {
  if (/[A-Za-z]/.test(character)) return LETTER;
  if (/\d/.test(character)) return SIGNS.digit;
  if (character === '_') return SIGNS.underscore;
  if (character === '/') return SIGNS.slash;
  if (character === '.') return SIGNS.dot;
  return '#@~$+%-'.includes(character) ? OTHER : 0;
}
