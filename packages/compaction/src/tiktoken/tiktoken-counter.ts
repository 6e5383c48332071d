import { createRequire } from 'node:module';
import type { TokenCounter } from '@x/core';
import { countLong, countShort, SHORT_PIECE } from './merge.js';
import { NO_RANK, parseRanks, RankTable } from './rank-table.js';

/** Counts tokens exactly as OpenAI's tiktoken does. */
export interface TiktokenCounter extends TokenCounter {
  readonly name: 'o200k_base';
  /** Loads the encoding's data now instead of at the first `count`. Takes about 50 ms and 15 MB, once per process. */
  load(): void;
}

let encoder: TokenCounter['count'] | undefined;

const counter: TiktokenCounter = Object.freeze({
  name: 'o200k_base',
  count: (text: string) => (encoder ?? loadEncoder())(text),
  load: () => void (encoder ?? loadEncoder()),
});

/**
 * Returns the exact counter for `o200k_base`, the encoding of OpenAI's models since GPT-4o. Always returns the same object, so that callers
 * share cached counts of messages.
 *
 * The names of special tokens, such as `<|endoftext|>`, are counted as ordinary text. A file or a tool's output may contain them, and
 * providers do not treat them as control tokens in messages either.
 *
 * Counting takes O(n log n) for any text. The encoding's data comes from js-tiktoken and is loaded at the first count.
 *
 * @example
 * ```ts
 * const compactor = createCompactor({ contextWindow: 400_000, counter: tiktokenCounter() });
 * ```
 */
export function tiktokenCounter(): TiktokenCounter {
  return counter;
}

function loadEncoder(): TokenCounter['count'] {
  const require = createRequire(import.meta.url);
  const data = require('js-tiktoken/ranks/o200k_base') as { bpe_ranks: string; pat_str: string };
  encoder = encoderOf(new RankTable(parseRanks(data.bpe_ranks)), patternOf(data.pat_str));
  return encoder;
}

/** The characters of `\s` in Rust, the language of tiktoken. JavaScript's `\s` also has U+FEFF, and lacks U+0085. */
const SPACE = String.raw`\t-\r\x20\x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000`;

/** Converts the published pattern, so that `\s` matches as in Rust. The pattern splits a text into pieces; no token spans two pieces. */
function patternOf(published: string): RegExp {
  let inClass = false;
  const pattern = published.replaceAll(/\\.|[[\]]/g, (part) => {
    if (part === '[' || part === ']') inClass = part === '[';
    if (part === String.raw`\S`) return `[^${SPACE}]`;
    if (part === String.raw`\s`) return inClass ? SPACE : `[${SPACE}]`;
    return part;
  });
  return new RegExp(pattern.replaceAll(/\((?!\?)/g, '(?:'), 'gu');
}

/** Texts of up to this many UTF-16 units are encoded into one shared buffer. */
const BUFFERED_UNITS = 16_384;
const MAX_BYTES_PER_UNIT = 3;

const textEncoder = new TextEncoder();
const buffer = new Uint8Array(BUFFERED_UNITS * MAX_BYTES_PER_UNIT);

/**
 * Creates the function that counts tokens. Looks up and merges each piece as UTF-8 bytes in place. Allocates no string, slice or
 * match object per piece, and caches nothing.
 */
function encoderOf(table: RankTable, pieces: RegExp): TokenCounter['count'] {
  return (text) => {
    // A lone surrogate becomes U+FFFD, as in tiktoken. The pattern treats both alike.
    const bytes = text.length > BUFFERED_UNITS ? textEncoder.encode(text) : buffer;
    const length = bytes === buffer ? textEncoder.encodeInto(text, buffer).written : bytes.length;
    const isAscii = length === text.length;
    pieces.lastIndex = 0;
    let count = 0;
    let start = 0;
    for (let unit = 0; pieces.test(text); unit = pieces.lastIndex) {
      const units = pieces.lastIndex - unit;
      const end = start + (isAscii ? units : bytesIn(text, unit, unit + units));
      count += countPiece(table, bytes, start, end);
      start = end;
    }
    return count;
  };
}

/** Counts the bytes of a part of a text in UTF-8. */
function bytesIn(text: string, start: number, end: number): number {
  let bytes = end - start;
  for (let index = start; index < end; index++) {
    const character = text.codePointAt(index) as number;
    if (character >= 0x80) bytes += character < 0x800 ? 1 : 2;
    // Each unit of a pair has two bytes.
    if (character > 0xffff) index++;
  }
  return bytes;
}

function countPiece(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 1 || table.find(bytes, start, end) !== NO_RANK) return 1;
  return length <= SHORT_PIECE ? countShort(table, bytes, start, end) : countLong(table, bytes, start, end);
}
