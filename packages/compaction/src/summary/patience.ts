import { systemClock, unlessAborted } from '@x/core/internal';

/** Waits for models. All waits of one compaction share one limit in milliseconds. */
export class Patience {
  readonly ms: number;
  readonly #end = new AbortController();
  #expired: Promise<void> | undefined;

  /** @param ms 0: accepts only work that is already done. */
  constructor(ms: number) {
    this.ms = ms;
  }

  /**
   * Waits until some work is done, or time is up.
   *
   * @returns whether it is done.
   * @throws the signal's reason, and what the work throws.
   */
  async waitFor(work: Promise<unknown>, signal: AbortSignal | undefined): Promise<boolean> {
    this.#expired ??= systemClock.sleep(this.ms, { signal: this.#end.signal }).catch(() => {});
    const isDone = Promise.race([work.then(() => true), this.#expired.then(() => false)]);
    return unlessAborted(isDone, signal);
  }

  /** Stops the timer. */
  stop(): void {
    this.#end.abort();
  }
}
