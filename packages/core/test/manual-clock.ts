import type { Clock } from '../src/internal.js';

interface Sleeper {
  readonly wakesAt: number;
  wake(): void;
}

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  #now = 1_000_000;
  #sleepers: Sleeper[] = [];

  now(): number {
    return this.#now;
  }

  sleep(ms: number, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const onAbort = () => {
        this.#sleepers = this.#sleepers.filter((other) => other !== sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { wakesAt: this.#now + ms, wake };
      this.#sleepers.push(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Lets time pass in which the process stands still: whoever sleeps wakes too late, with the next `pass`. */
  standStill(ms: number): void {
    this.#now += ms;
  }

  /** Lets time pass, from one sleeper to the next, each with all that it starts. */
  async pass(ms: number): Promise<void> {
    const end = this.#now + ms;
    await settle();
    for (;;) {
      const next = this.#sleepers.toSorted((left, right) => left.wakesAt - right.wakesAt)[0];
      if (next === undefined || next.wakesAt > end) break;
      this.#sleepers = this.#sleepers.filter((other) => other !== next);
      this.#now = Math.max(this.#now, next.wakesAt);
      next.wake();
      await settle();
    }
    this.#now = end;
  }
}

/** Runs all promises that can go on. */
function settle(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
