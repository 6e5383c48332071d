import { NO_RANK, type RankTable } from './rank-table.js';

/** The heap packs a rank and an offset into one number: `rank * OFFSETS + offset`, which stays below 2^53. */
const OFFSETS = 2 ** 32;

/**
 * Returns the same count as `countShort` in O(n log n), for pieces of any length. A heap yields the pair to join next. Long pieces occur:
 * a word of 200,000 letters, a ruler of `=` and Chinese without punctuation are one piece each, and may come from a tool or an attacker.
 *
 * The pair with the lowest rank has a lower rank than its neighbors, so the heap only contains pairs that do. These are few in random text,
 * and one in a run of equal characters. A join makes some heap entries obsolete. They stay in the heap and are skipped when popped: an
 * entry is current if its rank equals the rank at its offset. A rank cannot recur at an offset, because the pair there only grows.
 *
 * Parts are identified by their offset and linked by their lengths, which fit into one byte; offsets would need four.
 */
export function countLong(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const ranks = new Int32Array(length).fill(NO_RANK);
  const lengths = new Uint8Array(length).fill(1);
  const lengthsBefore = new Uint8Array(length + 1).fill(1);
  const heap = new RankHeap();

  /** Adds the pair at `part` to the heap if it must be joined before the pairs to its left and right. */
  const offer = (part: number) => {
    const rank = ranks[part] as number;
    if (rank === NO_RANK) return;
    if (part > 0 && (ranks[part - (lengthsBefore[part] as number)] as number) <= rank) return;
    const following = part + (lengths[part] as number);
    if (following < length && (ranks[following] as number) < rank) return;
    heap.push(rank * OFFSETS + part);
  };

  for (let part = 0; part + 1 < length; part++) ranks[part] = table.findPair(bytes, start + part);
  for (let part = 0; part + 1 < length; part++) offer(part);
  let count = length;
  while (heap.size > 0) {
    const least = heap.pop();
    const part = least % OFFSETS;
    if (ranks[part] !== (least - part) / OFFSETS) continue;
    const absorbed = part + (lengths[part] as number);
    const after = absorbed + (lengths[absorbed] as number);
    const absorbedRank = ranks[absorbed] as number;
    lengths[part] = after - part;
    lengthsBefore[after] = after - part;
    ranks[absorbed] = NO_RANK;
    ranks[part] =
      after < length ? table.find(bytes, start + part, start + after + (lengths[after] as number)) : NO_RANK;
    count--;
    if (part > 0) {
      const before = part - (lengthsBefore[part] as number);
      const beforeRank = ranks[before] as number;
      ranks[before] = table.find(bytes, start + before, start + after);
      offer(before);
      // If the changed pair had a lower rank than the next pair outward, that pair may now be a candidate.
      const outer = before - (lengthsBefore[before] as number);
      if (before > 0 && beforeRank < (ranks[outer] as number)) offer(outer);
    }
    offer(part);
    if (after < length && absorbedRank <= (ranks[after] as number)) offer(after);
  }
  return count;
}

const PART_BITS = 7;
const PART_MASK = 2 ** PART_BITS - 1;

/** Maximum length of a piece for `countShort`, in bytes. For longer pieces, the heap of `countLong` is faster. */
export const SHORT_PIECE = 2 ** PART_BITS;

/** Key of a part that cannot be joined to the next part. It is greater than all other keys. */
const NO_KEY = 2 ** 30;

// A part is identified by the offset of its first byte. All calls share the arrays, because each call is synchronous.
const keys = new Int32Array(SHORT_PIECE);
const next = new Uint8Array(SHORT_PIECE);
const previous = new Uint8Array(SHORT_PIECE + 1);

/**
 * Counts the tokens of a piece after byte-pair encoding (Sennrich, Haddow and Birch 2016; on bytes, as in GPT-2). The encoding repeatedly
 * joins the two neighbors whose joined bytes are the token of the lowest rank, the leftmost first.
 *
 * Each join scans all parts for the next join. This is quadratic, but fastest for the few bytes that nearly all pieces have. A part's key
 * is the rank of joining it to the next part, then its offset, so the lowest key is the next join.
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

/** Returns the lowest key. Has no branch, because a branch would be mispredicted often: `difference >> 31` is -1 if it is less, else 0. */
function leastKey(length: number): number {
  let least = NO_KEY;
  for (let part = 0; part < length; part++) {
    const difference = (keys[part] as number) - least;
    least += difference & (difference >> 31);
  }
  return least;
}

/** A binary min-heap of numbers. */
export class RankHeap {
  readonly #items: number[] = [];

  get size(): number {
    return this.#items.length;
  }

  push(item: number): void {
    const items = this.#items;
    let index = items.push(item) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const parentItem = items[parent] as number;
      if (parentItem <= item) break;
      items[index] = parentItem;
      index = parent;
    }
    items[index] = item;
  }

  /** Removes and returns the lowest item. The heap must not be empty. */
  pop(): number {
    const items = this.#items;
    const least = items[0] as number;
    const item = items.pop() as number;
    const size = items.length;
    if (size === 0) return least;
    let index = 0;
    for (;;) {
      let child = index * 2 + 1;
      if (child >= size) break;
      if (child + 1 < size && (items[child + 1] as number) < (items[child] as number)) child++;
      const childItem = items[child] as number;
      if (childItem >= item) break;
      items[index] = childItem;
      index = child;
    }
    items[index] = item;
    return least;
  }
}
