import type { Message, TokenCounter } from '@x/core';
import { countUpTo } from '@x/core/internal';
import { countMessage, countRequest, type ToolDefinition } from '@x/core/messages';

/** The parts of a request apart from the conversation. */
export interface RequestFrame {
  readonly system?: string | undefined;
  readonly tools?: readonly ToolDefinition[] | undefined;
  readonly reminders?: readonly Message[] | undefined;
}

/**
 * Counts the tokens of a compaction: the counter's result times the ratio of reported to counted tokens. Results are not rounded, so that
 * the tokens of parts add up to those of the whole.
 */
export class Meter {
  readonly counter: TokenCounter;
  /** The ratio of reported to counted tokens; 1 before the first report. */
  readonly ratio: number;

  constructor(counter: TokenCounter, ratio = 1) {
    this.counter = counter;
    this.ratio = ratio;
  }

  /** Counts the tokens of a text. */
  text(text: string): number {
    return this.counter.count(text) * this.ratio;
  }

  /** Tests if a text has at most `most` tokens. Counts no more of a long text than necessary. */
  fits(text: string, most: number): boolean {
    return countUpTo(this.counter, text, most / this.ratio) * this.ratio <= most;
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

  /** Counts the tokens of system prompt, tool definitions and reminders. */
  frame({ system, tools, reminders = [] }: RequestFrame): number {
    return countRequest(this.counter, { system, tools, messages: reminders }) * this.ratio;
  }
}
