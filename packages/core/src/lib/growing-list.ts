/** Returns how many items two lists begin with alike. Pointers are compared in microseconds. */
export function commonPrefix<Item>(left: readonly Item[], right: readonly Item[]): number {
  const end = Math.min(left.length, right.length);
  let index = 0;
  while (index < end && left[index] === right[index]) index++;
  return index;
}

/** Follows a list that mostly grows, so that each of its items is visited once. */
export class GrowingList<Item> {
  readonly #seen: Item[] = [];

  /**
   * Visits the items that were added since the last call. If the list was rewritten, visits all of its items again.
   *
   * @param restart Runs before the items of a rewritten list are visited.
   */
  follow(list: readonly Item[], restart: () => void, visit: (item: Item, index: number) => void): void {
    const seen = this.#seen;
    if (commonPrefix(seen, list) < seen.length) {
      seen.length = 0;
      restart();
    }
    for (let index = seen.length; index < list.length; index++) {
      const item = list[index] as Item;
      visit(item, index);
      seen.push(item);
    }
  }
}
