/** Ranks of tokens by their bytes, one character per byte. A token with a lower rank is joined earlier. */
export type Ranks = ReadonlyMap<string, number>;

const NO_RANK = -1;

/** The heap packs a rank and an offset into one number: `rank * OFFSETS + offset`, which stays below 2^53. */
const OFFSETS = 2 ** 32;

/**
 * Counts the tokens of a piece after byte-pair encoding (Sennrich, Haddow and Birch 2016; on bytes, as in GPT-2). The encoding repeatedly
 * joins the two neighbors whose joined bytes are the token of the lowest rank, the leftmost first.
 *
 * Takes O(n log n), because a heap yields the pair to join next. Long pieces occur: a word of 200,000 letters, a ruler of `=` and Chinese
 * without punctuation are one piece each, and may come from a tool or an attacker. A join makes some heap entries obsolete. They stay in
 * the heap and are skipped when popped: an entry is current if its rank equals the rank at its offset. A rank cannot recur at an offset,
 * because the pair there only grows.
 *
 * @param bytes The bytes of the piece, one character per byte.
 */
export function countMerged(ranks: Ranks, bytes: string): number {
  const { length } = bytes;
  // For each part, which its offset identifies: the offsets of the parts around it, and the rank of joining it to the next part.
  const next: number[] = [];
  const previous: number[] = [];
  const pairs: number[] = [];
  const heap = new RankHeap();
  const offer = (part: number) => {
    const end = next[next[part] as number];
    const rank = (end === undefined ? undefined : ranks.get(bytes.slice(part, end))) ?? NO_RANK;
    pairs[part] = rank;
    if (rank !== NO_RANK) heap.push(rank * OFFSETS + part);
  };
  for (let part = 0; part < length; part++) {
    next.push(part + 1);
    previous.push(part - 1);
  }
  for (let part = 0; part < length; part++) offer(part);
  let count = length;
  while (heap.size > 0) {
    const least = heap.pop();
    const part = least % OFFSETS;
    if (pairs[part] !== (least - part) / OFFSETS) continue;
    const absorbed = next[part] as number;
    const after = next[absorbed] as number;
    next[part] = after;
    previous[after] = part;
    pairs[absorbed] = NO_RANK;
    count--;
    offer(part);
    if (part > 0) offer(previous[part] as number);
  }
  return count;
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
