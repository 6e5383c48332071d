/** Runs tasks of one key one after the other, in order of arrival; different keys run side by side. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /** @param wait Awaits those before, or gives up: then the task does not run, and those behind go on waiting. */
  async run<T>(
    key: string,
    task: () => Promise<T>,
    wait: (before: Promise<unknown>) => Promise<unknown> = (before) => before,
  ): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const current = wait(before).then(task);
    const tail = Promise.allSettled([before, current]);
    this.#tails.set(key, tail);
    try {
      return await current;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Returns whether a task of this key runs or waits. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Resolves when no task runs or waits. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
