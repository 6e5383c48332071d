import {
  countMessage,
  countSystem,
  countTool,
  type Message,
  type TokenCounter,
  type ToolDefinition,
} from '@x/core';

/** The parts of a request beside the conversation. */
export interface RequestFrame {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly reminders?: readonly Message[] | undefined;
}

/**
 * The one measure of a compaction: a counter, times the ratio of reported to counted tokens. Results are not rounded, so
 * that parts add up to wholes.
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

  /** Counts the tokens of a text. */
  text(text: string): number {
    return this.counter.count(text) * this.ratio;
  }

  /** Counts the tokens of a message. */
  message(message: Message): number {
    return countMessage(this.counter, message) * this.ratio;
  }

  /** Counts the tokens of messages together. */
  messages(messages: Iterable<Message>): number {
    let total = 0;
    for (const message of messages) total += countMessage(this.counter, message);
    return total * this.ratio;
  }

  /** Counts the tokens of system prompt, tool definitions and reminders. The system prompt is counted when it changes. */
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

  /** Makes a meter of the same counter with another ratio. */
  calibrated(ratio: number): Meter {
    return new Meter(this.counter, ratio);
  }
}
