import type { Clock } from '@x/core/internal';

/** Time that passes only when a test says so. */
export class ManualClock implements Clock {
  #now: number;

  constructor(now: number) {
    this.#now = now;
  }

  now(): number {
    return this.#now;
  }

  /** The memory waits for nothing. */
  async sleep(): Promise<void> {}

  async pass(ms: number): Promise<void> {
    this.#now += ms;
  }
}
