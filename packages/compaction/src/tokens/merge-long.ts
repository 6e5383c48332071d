import { RankHeap } from './rank-heap.js';
import { NO_RANK, type RankTable } from './rank-table.js';

/** A rank and an offset share one number of the heap: `rank * OFFSETS + offset`, which stays below 2^53. */
const OFFSETS = 2 ** 32;

/**
 * The same count as `countShort` in O(n log n), for pieces of any length: the parts are a linked list, and a heap
 * yields the pair to join next. A word of 200,000 letters, a ruler of `=` or Chinese without punctuation is one piece,
 * and any of them may come from a tool or a stranger.
 *
 * Pairs that a join has made obsolete stay in the heap and are skipped when they come up: a pair is current only while
 * `ranks` has its rank at its offset. No offset ever sees the same rank twice, since the pair there only grows.
 */
export function countLong(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const ranks = new Int32Array(length).fill(NO_RANK);
  const next = new Int32Array(length);
  const previous = new Int32Array(length + 1);
  // Every pair at first, and two more for each join.
  const heap = new RankHeap(length * 3);
  const setRank = (part: number, rank: number) => {
    ranks[part] = rank;
    if (rank !== NO_RANK) heap.push(rank * OFFSETS + part);
  };
  for (let part = 0; part < length; part++) {
    next[part] = part + 1;
    previous[part + 1] = part;
    if (part + 1 < length) setRank(part, table.findPair(bytes, start + part));
  }
  let count = length;
  while (heap.size > 0) {
    const least = heap.pop();
    const part = least % OFFSETS;
    if (ranks[part] !== (least - part) / OFFSETS) continue;
    const absorbed = next[part] as number;
    const after = next[absorbed] as number;
    next[part] = after;
    previous[after] = part;
    ranks[absorbed] = NO_RANK;
    count--;
    setRank(
      part,
      after < length ? table.find(bytes, start + part, start + (next[after] as number)) : NO_RANK,
    );
    if (part > 0) {
      const before = previous[part] as number;
      setRank(before, table.find(bytes, start + before, start + after));
    }
  }
  return count;
}
