import { Deadline, withinLimit } from '@x/core/internal';

/** Milliseconds that background work may take, and that it has to end after it was aborted. */
interface QueueLimits {
  readonly backgroundMs: number;
  readonly interruptMs: number;
}

/** Runs work that continues after a reply. It never delays the reply, and the agent waits for it when it closes. */
export class BackgroundQueue {
  readonly #limits: QueueLimits;
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Starts `task`. Passes its error or timeout to `report`. */
  add(name: string, task: (signal: AbortSignal) => Promise<void>, report: (error: unknown) => void): void {
    const { backgroundMs, interruptMs } = this.#limits;
    const deadline = new Deadline(this.#abort.signal);
    deadline.start(`The work of ${name} in the background`, 'limits.backgroundMs', backgroundMs);
    const work = Promise.resolve().then(() => task(deadline.signal));
    const running = deadline
      .race(work, interruptMs || Number.POSITIVE_INFINITY)
      .catch(report)
      .finally(() => {
        deadline.stop();
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /**
   * Waits up to `ms` milliseconds for running work and the work that it starts. Then aborts the rest and waits briefly
   * for it to end.
   */
  async drain(ms: number): Promise<void> {
    await withinLimit(['Work in the background', 'limits.closeMs', ms], () => this.idle()).catch((error) =>
      this.#abort.abort(error),
    );
    await this.idle();
  }

  /** Resolves when no work is running. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
