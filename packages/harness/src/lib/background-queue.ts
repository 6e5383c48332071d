import { Deadline, unlessAborted } from '@x/core';

/** Milliseconds that work in the background may take, and what it has to end once it was told to. */
interface QueueLimits {
  readonly backgroundMs: number;
  readonly interruptMs: number;
}

/** Work that goes on after a reply: never delays it, and is waited for when the agent closes. */
export class BackgroundQueue {
  readonly #limits: QueueLimits;
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Starts `task`; its error, or that its time was up, goes to `report`. */
  add(name: string, task: (signal: AbortSignal) => Promise<void>, report: (error: unknown) => void): void {
    const { backgroundMs, interruptMs } = this.#limits;
    const deadline = new Deadline(this.#abort.signal);
    deadline.start(`The work of ${name} in the background`, 'limits.backgroundMs', backgroundMs);
    const work = Promise.resolve().then(() => task(deadline.signal));
    const running = deadline
      .race(work, interruptMs)
      .catch(report)
      .finally(() => {
        deadline.stop();
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /**
   * Resolves when nothing runs any more, including what the running work starts. What still runs when `signal` fires is told to
   * end, and soon left alone.
   */
  async drain(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#idle(), signal).catch(() => this.#abort.abort(signal.reason));
    await this.#idle();
  }

  /** Resolves when nothing runs any more. Leaves what runs alone, and rejects, when `signal` fires. */
  async settle(signal: AbortSignal): Promise<void> {
    await unlessAborted(this.#idle(), signal);
  }

  async #idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
