import type { Message, TokenCounter } from '@x/core';
import { Meter } from '../meter.js';
import type { AheadOfTime } from './ahead.js';

/**
 * What a capability remembers of one state between steps, so that a step costs what it adds: a running count of the
 * conversation, and where the last attempts left off. Lost with the process, and cheap to find again.
 */
export class SessionTracker {
  /** Counts as the counter does, uncalibrated. */
  readonly meter: Meter;
  /** A compaction is under way. */
  busy = false;
  /** Grows with every reduction; what was measured under another version says nothing about this one. */
  version = 0;
  /** Tokens of system prompt, tools and reminders in the last request. */
  frame = 0;
  /** A summary made ahead of time, or that none could be made. */
  ahead: AheadOfTime | undefined;
  readonly #observe: ((message: Message) => void) | undefined;
  #length = 0;
  #first: Message | undefined;
  #last: Message | undefined;
  #counted = 0;
  /** The conversation for which nothing could be done. */
  #settled:
    | { readonly length: number; readonly lastId: string | undefined; readonly untilTokens: number }
    | undefined;
  #checkedAt = 0;

  /** @param observe Told of every message that is counted. */
  constructor(counter: TokenCounter, observe?: (message: Message) => void) {
    this.meter = new Meter(counter);
    this.#observe = observe;
  }

  /** Tokens of the conversation. Counts what was added since last time; all when it was rewritten. */
  count(context: readonly Message[]): number {
    const grown =
      context.length >= this.#length &&
      context[0] === this.#first &&
      context[this.#length - 1] === this.#last &&
      this.#length > 0;
    if (!grown) {
      this.#length = 0;
      this.#counted = 0;
    }
    for (let index = this.#length; index < context.length; index++) {
      const message = context[index] as Message;
      this.#counted += this.meter.message(message);
      this.#observe?.(message);
    }
    this.#length = context.length;
    this.#first = context[0];
    this.#last = context.at(-1);
    return this.#counted;
  }

  /**
   * Remembers that nothing could be done for this conversation.
   *
   * @param growth The share by which the request must grow before it is worth another try.
   */
  settle(context: readonly Message[], tokens: number, growth: number): void {
    this.#settled = {
      length: context.length,
      lastId: context.at(-1)?.id,
      untilTokens: tokens * (1 + growth),
    };
  }

  /** Tests if too little was added since nothing could be done. */
  isStillFutile(context: readonly Message[], tokens: number): boolean {
    const settled = this.#settled;
    if (settled === undefined) return false;
    if (settled.length === context.length && settled.lastId === context.at(-1)?.id) return true;
    return tokens < settled.untilTokens;
  }

  /**
   * Whether to look for early reductions: when the request has grown by a tenth since they were last looked for. Looking
   * costs the length of the history; at growing distances that is a constant for each message added.
   */
  earlyCheckDue(tokens: number): boolean {
    if (tokens < this.#checkedAt * 1.1) return false;
    this.#checkedAt = tokens;
    return true;
  }

  /** Counts anew next time: the conversation may have changed between its first message and its last. */
  recount(): void {
    this.#length = 0;
  }

  /** The conversation was rewritten. */
  rewritten(): void {
    this.version++;
    this.ahead = undefined;
    this.recount();
    this.#settled = undefined;
    this.#checkedAt = 0;
  }
}
