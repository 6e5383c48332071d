import { createRequire } from 'node:module';
import type { TokenCounter } from '@x/core';
import { countLong, countShort, SHORT_PIECE } from './merge.js';
import { pieceEnd } from './piece-end.js';
import { NO_RANK, parseRanks, RankTable } from './rank-table.js';

/** Counts exactly as OpenAI's tiktoken does. */
export interface TiktokenCounter extends TokenCounter {
  readonly name: 'o200k_base';
  /** Loads the encoding's data now, in place of the first `count`: once per process, some 50 ms and 15 MB. */
  load(): void;
}

let encoder: Encoder | undefined;

const counter: TiktokenCounter = Object.freeze({
  name: 'o200k_base',
  count: (text: string) => (encoder ?? loadEncoder()).count(text),
  load: () => void (encoder ?? loadEncoder()),
});

/**
 * Gives the exact counter of `o200k_base`, the encoding of OpenAI's models since GPT-4o: always the same object, so that callers share
 * the counts of messages.
 *
 * The names of special tokens, such as `<|endoftext|>`, are counted as the text that they are: a file or a tool's
 * output may contain them, and a provider does not take them from a message as control tokens either.
 *
 * Counting takes O(n log n) whatever the text is. The encoding's data is js-tiktoken's, loaded at the first count.
 */
export function tiktokenCounter(): TiktokenCounter {
  return counter;
}

function loadEncoder(): Encoder {
  const require = createRequire(import.meta.url);
  const { bpe_ranks } = require('js-tiktoken/ranks/o200k_base') as { bpe_ranks: string };
  encoder = new Encoder(new RankTable(parseRanks(bpe_ranks)));
  return encoder;
}

/** Texts of up to this many UTF-16 units are encoded into one buffer that is kept. */
const BUFFERED_UNITS = 16_384;
const MAX_BYTES_PER_UNIT = 3;

const textEncoder = new TextEncoder();
const buffer = new Uint8Array(BUFFERED_UNITS * MAX_BYTES_PER_UNIT);

/**
 * Counts the tokens of texts. All of it works on the UTF-8 bytes where they lie: splitting the text into pieces, looking
 * a piece up, merging its bytes. No string, slice or match object is made for any piece, and nothing is remembered.
 */
class Encoder {
  readonly #table: RankTable;

  constructor(table: RankTable) {
    this.#table = table;
  }

  count(text: string): number {
    // A lone surrogate becomes U+FFFD, as tiktoken has it; both are of the same class to the patterns.
    if (text.length > BUFFERED_UNITS) {
      const bytes = textEncoder.encode(text);
      return this.#countBytes(bytes, bytes.length);
    }
    return this.#countBytes(buffer, textEncoder.encodeInto(text, buffer).written);
  }

  #countBytes(bytes: Uint8Array, end: number): number {
    const table = this.#table;
    let count = 0;
    for (let start = 0; start < end; ) {
      const stop = pieceEnd(bytes, start, end);
      count += countPiece(table, bytes, start, stop);
      start = stop;
    }
    return count;
  }
}

function countPiece(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  if (length === 1 || table.find(bytes, start, end) !== NO_RANK) return 1;
  return length <= SHORT_PIECE ? countShort(table, bytes, start, end) : countLong(table, bytes, start, end);
}
