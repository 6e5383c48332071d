/** Runs tasks with the same key one after the other, in order of arrival. Tasks with different keys run in parallel. */
export class KeyedMutex {
  readonly #tails = new Map<string, Promise<unknown>>();

  /**
   * @param wait Awaits earlier tasks, or rejects to give up. Then the task does not run, and later tasks still wait for the earlier ones.
   */
  async run<T>(
    key: string,
    task: () => Promise<T>,
    wait: (before: Promise<unknown>) => Promise<unknown> = (before) => before,
  ): Promise<T> {
    const before = this.#tails.get(key) ?? Promise.resolve();
    const current = wait(before).then(task);
    // Drop the results, because a queue that is never empty would keep the results of all its tasks.
    const tail = Promise.allSettled([before, current]).then(() => {});
    this.#tails.set(key, tail);
    try {
      return await current;
    } finally {
      if (this.#tails.get(key) === tail) this.#tails.delete(key);
    }
  }

  /** Tests if a task with this key is running or waiting. */
  isBusy(key: string): boolean {
    return this.#tails.has(key);
  }

  /** Resolves when no task is running or waiting. */
  async idle(): Promise<void> {
    while (this.#tails.size > 0) await Promise.all(this.#tails.values());
  }
}
