interface Job {
  readonly group: string;
  readonly start: () => void;
  readonly done: Promise<void>;
}

/**
 * Work that goes on in the background, bounded: few tasks at a time, never two of one group, and what is asked for while
 * the same is waiting already is not queued again.
 */
export class WorkQueue {
  readonly #concurrency: number;
  /** By kind and group, of which there is one each. */
  readonly #waiting = new Map<string, Job>();
  readonly #running = new Set<string>();

  constructor(concurrency: number) {
    this.#concurrency = concurrency;
  }

  /**
   * Runs `task` in its turn, unless one of the same group and kind is waiting, which will do as well. Resolves when that
   * is done.
   *
   * @throws what the task throws.
   */
  add(group: string, kind: string, task: () => Promise<void>): Promise<void> {
    const key = `${kind} ${group}`;
    const same = this.#waiting.get(key);
    if (same !== undefined) return same.done;
    let start = () => {};
    const turn = new Promise<void>((resolve) => {
      start = resolve;
    });
    const done = turn.then(task).finally(() => {
      this.#running.delete(group);
      this.#next();
    });
    this.#waiting.set(key, { group, start, done });
    this.#next();
    return done;
  }

  #next(): void {
    for (const [key, { group, start }] of this.#waiting) {
      if (this.#running.size >= this.#concurrency) return;
      if (this.#running.has(group)) continue;
      this.#waiting.delete(key);
      this.#running.add(group);
      start();
    }
  }
}
