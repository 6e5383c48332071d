/** A binary min-heap of numbers, in one typed array that grows as needed. */
export class RankHeap {
  #size = 0;
  #items = new Float64Array(256);

  get size(): number {
    return this.#size;
  }

  push(item: number): void {
    if (this.#size === this.#items.length) this.#grow();
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

  #grow(): void {
    const items = new Float64Array(this.#items.length * 2);
    items.set(this.#items);
    this.#items = items;
  }
}
