import { NO_RANK, type RankTable } from './rank-table.js';

const PART_BITS = 7;
const PART_MASK = 2 ** PART_BITS - 1;

/** Longest piece in bytes that `countShort` takes. From about here on the heap of `countLong` is faster. */
export const SHORT_PIECE = 2 ** PART_BITS;

/** Key of a part that cannot be joined to the next: greater than all others. */
const NO_KEY = 2 ** 30;

// A part is named by the offset of its first byte. The arrays are shared by all calls, as none of them waits.
const keys = new Int32Array(SHORT_PIECE);
const next = new Uint8Array(SHORT_PIECE);
const previous = new Uint8Array(SHORT_PIECE + 1);

/**
 * How many tokens byte-pair encoding (Sennrich, Haddow and Birch 2016; on bytes, as GPT-2 does it) leaves of a piece:
 * of all neighbors whose bytes together are a token, join those of the lowest rank, the leftmost first; repeat.
 *
 * Each join looks through all parts for the next: quadratic, yet fastest for the few bytes that nearly all pieces have.
 * A part's key is the rank of joining it to the next one, then its offset, so that the least key is what to join.
 */
export function countShort(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  for (let part = 0; part < length; part++) {
    next[part] = part + 1;
    previous[part + 1] = part;
    keys[part] = part + 1 < length ? keyOf(table.findPair(bytes, start + part), part) : NO_KEY;
  }
  for (let count = length; ; count--) {
    const least = leastKey(length);
    if (least === NO_KEY) return count;
    const part = least & PART_MASK;
    const absorbed = next[part] as number;
    const after = next[absorbed] as number;
    next[part] = after;
    previous[after] = part;
    keys[absorbed] = NO_KEY;
    keys[part] =
      after < length ? keyOf(table.find(bytes, start + part, start + (next[after] as number)), part) : NO_KEY;
    if (part > 0) {
      const before = previous[part] as number;
      keys[before] = keyOf(table.find(bytes, start + before, start + after), before);
    }
  }
}

function keyOf(rank: number, part: number): number {
  return rank === NO_RANK ? NO_KEY : (rank << PART_BITS) | part;
}

/** Without a branch, as which key is less cannot be predicted: `difference >> 31` is -1 if it is less, else 0. */
function leastKey(length: number): number {
  let least = NO_KEY;
  for (let part = 0; part < length; part++) {
    const difference = (keys[part] as number) - least;
    least += difference & (difference >> 31);
  }
  return least;
}
