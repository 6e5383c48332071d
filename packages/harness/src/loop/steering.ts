import type { Message } from '@x/core';

interface Waiting {
  readonly messages: readonly Message[];
  readonly settle: (seen: boolean) => void;
}

/** Messages that come in while a call runs, until its next step. */
export class Steering {
  #waiting: Waiting[] = [];
  #closed = false;

  /** True when no message waits. */
  get isEmpty(): boolean {
    return this.#waiting.length === 0;
  }

  /** Adds messages. Resolves to true when they enter the conversation, to false when the call ends without them. */
  send(messages: readonly Message[]): Promise<boolean> {
    if (this.#closed) return Promise.resolve(false);
    return new Promise((settle) => {
      this.#waiting.push({ messages, settle });
    });
  }

  /** Hands over all waiting messages in order. Returns false when there was none. */
  deliver(add: (messages: readonly Message[]) => void): boolean {
    const waiting = this.#waiting;
    this.#waiting = [];
    for (const { messages, settle } of waiting) {
      add(messages);
      settle(true);
    }
    return waiting.length > 0;
  }

  /** Refuses further messages. */
  close(): void {
    this.#closed = true;
    for (const { settle } of this.#waiting.splice(0)) settle(false);
  }
}
