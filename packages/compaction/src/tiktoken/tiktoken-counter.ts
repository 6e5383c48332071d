import { createRequire } from 'node:module';
import { InvalidInputError, type TokenCounter } from '@x/core';
import { countLong, countShort, SHORT_PIECE } from './merge.js';
import { type PieceEnd, pieceEndCl100k, pieceEndO200k } from './piece-end.js';
import { NO_RANK, parseRanks, RankTable } from './rank-table.js';

/** `o200k_base` is the encoding of OpenAI's models since GPT-4o, `cl100k_base` that of GPT-4 and GPT-3.5. */
export type TiktokenEncoding = 'o200k_base' | 'cl100k_base';

/** Counts exactly as OpenAI's tiktoken does. */
export interface TiktokenCounter extends TokenCounter {
  readonly name: TiktokenEncoding;
  /** Loads the encoding's data now, in place of the first `count`: once per process, some 50 ms and 15 MB. */
  load(): void;
}

const pieceEnds: Readonly<Record<TiktokenEncoding, PieceEnd>> = {
  o200k_base: pieceEndO200k,
  cl100k_base: pieceEndCl100k,
};

const counters = new Map<TiktokenEncoding, TiktokenCounter>();

/**
 * Gives the exact counter of an encoding: always the same object, so that callers share the counts of messages.
 *
 * The names of special tokens, such as `<|endoftext|>`, are counted as the text that they are: a file or a tool's
 * output may contain them, and a provider does not take them from a message as control tokens either.
 *
 * Counting takes O(n log n) whatever the text is. The encoding's data is js-tiktoken's, loaded at the first count.
 *
 * @param encoding defaults to `o200k_base`
 * @throws InvalidInputError if there is no such encoding
 */
export function tiktokenCounter(encoding: TiktokenEncoding = 'o200k_base'): TiktokenCounter {
  let counter = counters.get(encoding);
  if (counter === undefined) {
    counter = createCounter(encoding);
    counters.set(encoding, counter);
  }
  return counter;
}

function createCounter(encoding: TiktokenEncoding): TiktokenCounter {
  if (!Object.hasOwn(pieceEnds, encoding)) {
    const message = `Expected one of ${Object.keys(pieceEnds).join(', ')}, got ${String(encoding)}`;
    throw new InvalidInputError('token encoding', [{ path: '', message }]);
  }
  let encoder: Encoder | undefined;
  const load = (): Encoder => {
    encoder ??= loadEncoder(encoding);
    return encoder;
  };
  return Object.freeze({
    name: encoding,
    count: (text: string) => (encoder ?? load()).count(text),
    load: () => void load(),
  });
}

function loadEncoder(encoding: TiktokenEncoding): Encoder {
  const require = createRequire(import.meta.url);
  const { bpe_ranks } = require(`js-tiktoken/ranks/${encoding}`) as { bpe_ranks: string };
  return new Encoder(new RankTable(parseRanks(bpe_ranks)), pieceEnds[encoding]);
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
  readonly #pieceEnd: PieceEnd;

  constructor(table: RankTable, pieceEnd: PieceEnd) {
    this.#table = table;
    this.#pieceEnd = pieceEnd;
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
    const pieceEnd = this.#pieceEnd;
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
