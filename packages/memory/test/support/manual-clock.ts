import type { Clock } from '@x/core/internal';

interface Sleeper {
  readonly wakesAt: number;
  wake(): void;
}

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  #now: number;
  readonly #sleepers = new Set<Sleeper>();

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** How many wait for time to pass. */
  get sleepers(): number {
    return this.#sleepers.size;
  }

  sleep(ms: number, { signal }: { readonly signal?: AbortSignal | undefined } = {}): Promise<void> {
    return new Promise((resolve, reject) => {
      signal?.throwIfAborted();
      const onAbort = () => {
        this.#sleepers.delete(sleeper);
        reject(signal?.reason);
      };
      const wake = () => {
        this.#sleepers.delete(sleeper);
        signal?.removeEventListener('abort', onAbort);
        resolve();
      };
      const sleeper = { wakesAt: this.#now + ms, wake };
      this.#sleepers.add(sleeper);
      signal?.addEventListener('abort', onAbort, { once: true });
    });
  }

  /** Lets time pass, and wakes who slept until then. */
  async pass(ms: number): Promise<void> {
    this.#now += ms;
    for (const sleeper of [...this.#sleepers]) if (sleeper.wakesAt <= this.#now) sleeper.wake();
    await new Promise((resolve) => setImmediate(resolve));
  }
}
