import { Deadline, withinLimit } from '@x/core/internal';

/** Milliseconds that work in the background may take, and what it has to end once it was told to. */
interface QueueLimits {
  readonly backgroundMs: number;
  readonly interruptMs: number;
}

/** Work that continues after a reply: never delays it, and is waited for when the agent closes. */
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
      .race(work, interruptMs || Number.POSITIVE_INFINITY)
      .catch(report)
      .finally(() => {
        deadline.stop();
        this.#running.delete(running);
      });
    this.#running.add(running);
  }

  /** Waits for `ms` for what runs, and what it starts. What still runs then is told to end, and soon left alone. */
  async drain(ms: number): Promise<void> {
    await withinLimit(['Work in the background', 'limits.closeMs', ms], () => this.idle()).catch((error) =>
      this.#abort.abort(error),
    );
    await this.idle();
  }

  /** Resolves when nothing runs any more. */
  async idle(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
