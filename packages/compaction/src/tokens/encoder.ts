import { countLong } from './merge.js';
import { countShort, SHORT_PIECE } from './merge-short.js';
import type { PieceEnd } from './piece-end.js';
import { NO_RANK, type RankTable } from './rank-table.js';

/** Texts of up to this many UTF-16 units are encoded into one buffer that is kept. */
const BUFFERED_UNITS = 16_384;
const MAX_BYTES_PER_UNIT = 3;

const textEncoder = new TextEncoder();
const buffer = new Uint8Array(BUFFERED_UNITS * MAX_BYTES_PER_UNIT);

/**
 * Counts the tokens of texts. All of it works on the UTF-8 bytes where they lie: splitting the text into pieces, looking
 * a piece up, merging its bytes. No string, slice or match object is made for any piece, and nothing is remembered.
 */
export class Encoder {
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
