import { Deadline, withinLimit } from '@x/core/internal';

/** Milliseconds that background work may take, and that it has to end after it was aborted. */
interface QueueLimits {
  readonly backgroundMs: number;
  readonly interruptMs: number;
}

/** Runs work that continues after a reply. It never delays the reply, and the agent waits for it when it closes. */
export class BackgroundQueue {
  readonly #limits: QueueLimits;
  /** Running work, with the id of its session. */
  readonly #running = new Map<Promise<void>, string>();
  readonly #abort = new AbortController();

  constructor(limits: QueueLimits) {
    this.#limits = limits;
  }

  /** Starts `task` of a session. Passes its error or timeout to `report`. */
  add(
    session: string,
    name: string,
    task: (signal: AbortSignal) => Promise<void>,
    report: (error: unknown) => void,
  ): void {
    const { backgroundMs, interruptMs } = this.#limits;
    const deadline = new Deadline(this.#abort.signal);
    deadline.start(`Background work of ${name}`, 'limits.backgroundMs', backgroundMs);
    const work = Promise.resolve().then(() => task(deadline.signal));
    const running = deadline
      .race(work, interruptMs || Number.POSITIVE_INFINITY)
      .catch(report)
      .finally(() => {
        deadline.stop();
        this.#running.delete(running);
      });
    this.#running.set(running, session);
  }

  /**
   * Waits up to `ms` milliseconds for running work and the work that it starts. Then aborts the rest and waits briefly
   * for it to end.
   */
  async drain(ms: number): Promise<void> {
    await withinLimit(['Background work', 'limits.closeMs', ms], () => this.idle()).catch((error) =>
      this.#abort.abort(error),
    );
    await this.idle();
  }

  /** Resolves when no work of matching sessions is running. Default: of all sessions. */
  async idle(matches: (session: string) => boolean = () => true): Promise<void> {
    for (;;) {
      const matching = [...this.#running].filter(([, session]) => matches(session));
      if (matching.length === 0) return;
      await Promise.all(matching.map(([work]) => work));
    }
  }
}
