import type { Message, TokenCounter } from '@x/core';
import { ContextMeter } from '@x/core/internal';
import { marksOf } from '../conversation/marks.js';
import type { AheadOfTime } from './ahead.js';

/** Messages that a step reads ahead: more than it adds, so that a few steps have caught up with all before them. */
const READ_AT_ONCE = 16;

/**
 * What a capability remembers of one state between steps, so that a step costs what it adds: a running count of the
 * conversation, and where the last attempts left off. Lost with the process, and cheap to find again.
 */
export class SessionTracker {
  /** Counts as the counter does, uncalibrated. */
  readonly meter: ContextMeter;
  /** A compaction is under way. */
  busy = false;
  /** Grows with every reduction; what was measured under another version says nothing about this one. */
  version = 0;
  /** Tokens of system prompt, tools and reminders in the last request. */
  frame = 0;
  /** A summary made ahead of time, or that none could be made. */
  ahead: AheadOfTime | undefined;
  /** The conversation for which nothing could be done. */
  #settled:
    | { readonly length: number; readonly lastId: string | undefined; readonly untilTokens: number }
    | undefined;
  #checkedAt = 0;
  readonly #observe: ((message: Message) => void) | undefined;
  /** Messages that were read ahead. */
  #read = 0;
  readonly #truncations = new Set<string>();
  /** The version whose truncations are known. */
  #searched = -1;

  /** @param observe Receives every message that is read ahead. */
  constructor(counter: TokenCounter, observe?: (message: Message) => void) {
    this.#observe = observe;
    this.meter = new ContextMeter(counter, (message) => {
      const { truncated } = marksOf(message);
      if (typeof truncated === 'string') this.#truncations.add(truncated);
    });
  }

  /** Answers the texts that stand where arguments of calls were cut: only a reduction makes more. */
  truncations(context: readonly Message[]): ReadonlySet<string> {
    if (this.#searched !== this.version) this.meter.conversation(context);
    this.#searched = this.version;
    return this.#truncations;
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

  /** Reads some more messages ahead of a compaction, which would else read them all at once. */
  readAhead(context: readonly Message[]): void {
    const next = context.slice(this.#read, this.#read + READ_AT_ONCE);
    for (const message of next) this.#observe?.(message);
    this.#read += next.length;
  }

  /** The conversation was rewritten. */
  rewritten(): void {
    this.#read = 0;
    this.version++;
    this.ahead = undefined;
    this.#settled = undefined;
    this.#checkedAt = 0;
  }
}
