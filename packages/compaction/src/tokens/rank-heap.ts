/** A binary min-heap of numbers, in one typed array of fixed capacity. */
export class RankHeap {
  #size = 0;
  readonly #items: Float64Array;

  constructor(capacity: number) {
    this.#items = new Float64Array(capacity);
  }

  get size(): number {
    return this.#size;
  }

  push(item: number): void {
    const items = this.#items;
    let index = this.#size++;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      const parentItem = items[parent] as number;
      if (parentItem <= item) break;
      items[index] = parentItem;
      index = parent;
    }
    items[index] = item;
  }

  /** Takes the least item out; the heap must not be empty. */
  pop(): number {
    const items = this.#items;
    const least = items[0] as number;
    const size = --this.#size;
    const item = items[size] as number;
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
