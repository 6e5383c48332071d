import {
  countMessage,
  countSystem,
  countTool,
  type Message,
  type TokenCounter,
  type ToolDefinition,
} from '@x/core';

/** What a request holds beside the conversation. */
export interface RequestFrame {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly reminders?: readonly Message[] | undefined;
}

/**
 * One measure for everything that a compaction compares: a counter, times what real usage showed the counter to be off
 * by. Results are not rounded, so that parts add up to wholes.
 */
export class Meter {
  readonly counter: TokenCounter;
  /** Reported tokens for each counted one; 1 until a provider reported any. */
  readonly ratio: number;
  #lastSystem = '';
  #lastSystemTokens = 0;

  constructor(counter: TokenCounter, ratio = 1) {
    this.counter = counter;
    this.ratio = ratio;
  }

  /** Tokens of a text. */
  text(text: string): number {
    return this.counter.count(text) * this.ratio;
  }

  /** Tokens of a message. */
  message(message: Message): number {
    return countMessage(this.counter, message) * this.ratio;
  }

  /** Tokens of messages together. */
  messages(messages: Iterable<Message>): number {
    let total = 0;
    for (const message of messages) total += countMessage(this.counter, message);
    return total * this.ratio;
  }

  /** Tokens of system prompt, tool definitions and reminders. The system prompt is counted when it changes. */
  frame({ system, tools, reminders }: RequestFrame): number {
    let total = 0;
    if (system) {
      if (system !== this.#lastSystem) {
        this.#lastSystem = system;
        this.#lastSystemTokens = countSystem(this.counter, system);
      }
      total += this.#lastSystemTokens;
    }
    for (const tool of tools ?? []) total += countTool(this.counter, tool);
    return total * this.ratio + this.messages(reminders ?? []);
  }

  /** The same counter with another ratio. */
  calibrated(ratio: number): Meter {
    return new Meter(this.counter, ratio);
  }
}
