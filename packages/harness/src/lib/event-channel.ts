import type { AgentEvent } from '@x/core';

/** Hands events from a running call to one consumer, in order, without losing any and without waiting for it. */
export class EventChannel {
  readonly #events: AgentEvent[] = [];
  #wake: (() => void) | undefined;
  #ended = false;
  #error: { readonly cause: unknown } | undefined;

  push(event: AgentEvent): void {
    this.#events.push(event);
    this.#wake?.();
  }

  end(error?: { readonly cause: unknown }): void {
    this.#ended = true;
    this.#error = error;
    this.#wake?.();
  }

  async *read(): AsyncGenerator<AgentEvent, void> {
    for (;;) {
      for (let event = this.#events.shift(); event !== undefined; event = this.#events.shift()) yield event;
      if (this.#ended) break;
      await new Promise<void>((resolve) => {
        this.#wake = resolve;
      });
      this.#wake = undefined;
    }
    if (this.#error) throw this.#error.cause;
  }
}
