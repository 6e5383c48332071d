import type { Message, TokenCounter } from '@x/core';
import { ContextMeter } from '@x/core/internal';
import { marksOf } from '../conversation/marks.js';
import type { AheadOfTime } from './ahead.js';

/** Messages that a step reads ahead: more than it adds, so that a few steps have caught up with all before them. */
const READ_AT_ONCE = 16;

/** A conversation that a run has left as it was. */
interface Settled {
  readonly length: number;
  readonly lastId: string | undefined;
  readonly untilTokens: number;
  /** A hook said so, which knows why. */
  readonly isWanted: boolean;
}

/** After a run without effect: how much the request must have grown before the next one. */
export const RETRY_GROWTH = 0.05;

/**
 * What a capability remembers of one state between steps, so that a step costs what it adds: a running count of the
 * conversation, and where the last attempts left off. Lost with the process, and cheap to find again.
 */
export class SessionTracker {
  /** Counts as the counter does, uncalibrated. */
  readonly meter: ContextMeter;
  /** A compaction is under way. */
  busy = false;
  /** A request was refused for a reason that is not known, and none has succeeded since. */
  isDoubted = false;
  /** The share of what makes a compaction due that the last request had. */
  fill = 1;
  /** Reports in a row of more tokens than a provider should count. */
  highReports = 0;
  /** Grows with every reduction; what was measured under another version says nothing about this one. */
  version = 0;
  /** Tokens of system prompt, tools and reminders in the last request. */
  frame = 0;
  /** A summary made ahead of time, or that none could be made. */
  ahead: AheadOfTime | undefined;
  /** The conversation for which nothing could be done. */
  #settled: Settled | undefined;
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
   * Remembers that this conversation was left as it is.
   *
   * @param isWanted A hook said so.
   */
  settle(context: readonly Message[], tokens: number, isWanted: boolean): void {
    const lastId = context.at(-1)?.id;
    this.#settled = { length: context.length, lastId, untilTokens: tokens * (1 + RETRY_GROWTH), isWanted };
  }

  /**
   * Tests if too little was added since nothing could be done.
   *
   * @param isUrgent The request exceeds the window: then whatever was added is worth a try.
   */
  isStillFutile(context: readonly Message[], tokens: number, isUrgent: boolean): boolean {
    const settled = this.#settled;
    if (settled === undefined) return false;
    if (settled.length === context.length && settled.lastId === context.at(-1)?.id) return true;
    return tokens < settled.untilTokens && (settled.isWanted || !isUrgent);
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
