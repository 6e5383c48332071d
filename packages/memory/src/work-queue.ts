import { XError } from '@x/core';

interface Job {
  readonly group: string;
  readonly task: () => Promise<void>;
  readonly done: Promise<void>;
  readonly settle: (result: Promise<void>) => void;
}

/**
 * Work that goes on in the background, bounded: few tasks at a time, never two of one group, and what is asked for while
 * the same is waiting already is not queued again.
 */
export class WorkQueue {
  readonly #concurrency: number;
  readonly #maxWaiting: number;
  readonly #waiting = new Map<string, Job>();
  readonly #running = new Set<string>();

  constructor({ concurrency, maxWaiting }: { readonly concurrency: number; readonly maxWaiting: number }) {
    this.#concurrency = concurrency;
    this.#maxWaiting = maxWaiting;
  }

  /**
   * Runs `task` in its turn, unless one of the same group and kind is waiting, which will do as well. Resolves when that
   * is done.
   *
   * @throws {XError} `memory_busy` when too much is waiting; what the task throws.
   */
  add(group: string, kind: string, task: () => Promise<void>): Promise<void> {
    const key = `${kind} ${group}`;
    const same = this.#waiting.get(key);
    if (same !== undefined) return same.done;
    if (this.#waiting.size >= this.#maxWaiting) {
      return Promise.reject(
        new XError(
          'memory_busy',
          `More than ${this.#maxWaiting} sessions wait to be flushed. Nothing is lost: this one is read from its log the next time.`,
        ),
      );
    }
    let settle: Job['settle'] = () => {};
    const done = new Promise<void>((resolve) => {
      settle = resolve;
    });
    this.#waiting.set(key, { group, task, done, settle });
    this.#start();
    return done;
  }

  #start(): void {
    for (const [key, { group, task, settle }] of this.#waiting) {
      if (this.#running.size >= this.#concurrency) return;
      if (this.#running.has(group)) continue;
      this.#waiting.delete(key);
      this.#running.add(group);
      settle(
        task().finally(() => {
          this.#running.delete(group);
          this.#start();
        }),
      );
    }
  }
}
