/** Work that goes on after a reply: never delays it, and is waited for when the agent closes. */
export class BackgroundQueue {
  readonly #running = new Set<Promise<void>>();
  readonly #abort = new AbortController();

  /** Starts `task`; its error goes to `report`. */
  add(task: (signal: AbortSignal) => Promise<void>, report: (error: unknown) => void): void {
    const running = Promise.resolve()
      .then(() => task(this.#abort.signal))
      .catch(report)
      .finally(() => this.#running.delete(running));
    this.#running.add(running);
  }

  /** Resolves when nothing runs any more, including what the running work starts. */
  async drain(): Promise<void> {
    while (this.#running.size > 0) await Promise.all(this.#running);
  }
}
