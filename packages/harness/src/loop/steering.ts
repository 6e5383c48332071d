import type { Message } from '@x/core';

interface Waiting {
  readonly messages: readonly Message[];
  readonly settle: (seen: boolean) => void;
}

/** Queues messages that arrive while a call runs, until its next step. */
export class Steering {
  #waiting: Waiting[] = [];
  #closed = false;

  /** Whether no message waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Queues messages. Resolves to true when they enter the conversation, to false if the call ends without them. */
  send(messages: readonly Message[]): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#waiting.push({ messages, settle });
    });
  }

  /**
   * Adds all waiting messages in order. Returns false if there were none.
   *
   * @param add Calls `said` when the messages are in the conversation.
   */
  async deliver(add: (messages: readonly Message[], said: () => void) => Promise<void>): Promise<boolean> {
    let delivered = false;
    for (let next = this.#waiting[0]; next !== undefined; next = this.#waiting[0]) {
      await add(next.messages, () => this.#waiting.shift()?.settle(true));
      delivered = true;
    }
    return delivered;
  }

  /** Rejects waiting and further messages. */
  close(): void {
    this.#closed = true;
    for (const { settle } of this.#waiting.splice(0)) settle(false);
  }
}
