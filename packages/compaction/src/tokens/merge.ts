import { RankHeap } from './rank-heap.js';
import { NO_RANK, type RankTable } from './rank-table.js';

/** A rank and an offset share one number of the heap: `rank * OFFSETS + offset`, which stays below 2^53. */
const OFFSETS = 2 ** 32;

/**
 * The same count as `countShort` in O(n log n), for pieces of any length: a heap yields the pair to join next. A word
 * of 200,000 letters, a ruler of `=` or Chinese without punctuation is one piece, and any of them may come from a
 * tool or a stranger.
 *
 * The pair of least rank ranks below its neighbors, so the heap need only hold pairs that do: few of a random text,
 * one of a run of the same character. What a join makes obsolete stays in the heap and is skipped when it comes up: it
 * is current while its rank is still that at its offset, where no rank comes twice, since the pair there only grows.
 *
 * Parts are named by their offset and linked by their lengths, which fit a byte where offsets would need four.
 */
export function countLong(table: RankTable, bytes: Uint8Array, start: number, end: number): number {
  const length = end - start;
  const ranks = new Int32Array(length).fill(NO_RANK);
  const lengths = new Uint8Array(length).fill(1);
  const lengthsBefore = new Uint8Array(length + 1).fill(1);
  const heap = new RankHeap();

  /** Adds the pair at `part` to the heap if it is to be joined before the pairs to its left and right. */
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
      // The pairs further out may join now if it was a pair that has changed that ranked below them.
      const outer = before - (lengthsBefore[before] as number);
      if (before > 0 && beforeRank < (ranks[outer] as number)) offer(outer);
    }
    offer(part);
    if (after < length && absorbedRank <= (ranks[after] as number)) offer(after);
  }
  return count;
}
