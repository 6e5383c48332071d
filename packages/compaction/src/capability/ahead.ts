import { addUsage, type CompactionOutcome, type Message, type Usage } from '@x/core';
import { unlessAborted } from '@x/core/internal';

/** From this share of the trigger point on a summary is made ahead of time: 60 % of the window by default. */
export const AHEAD_SHARE = 0.7;

/** What became of a summary made ahead of time. */
export interface Prepared {
  /** The conversation as it is now, and as it is with the summary; `undefined` where it is of no use any more. */
  readonly ready?: { readonly before: readonly Message[]; readonly outcome: CompactionOutcome } | undefined;
  /** What it cost where it is of no use. */
  readonly spent?: Usage | undefined;
}

/** A reduction of the conversation as it was at one moment, made in the background until it is due. */
export class AheadOfTime {
  readonly #before: readonly Message[];
  #made: Promise<CompactionOutcome> | undefined;

  constructor(before: readonly Message[]) {
    this.#before = before;
  }

  /** Makes it. Resolves when it is made, and never rejects: a failure is an outcome. */
  async run(reduce: (messages: readonly Message[]) => Promise<CompactionOutcome>): Promise<void> {
    this.#made = reduce(this.#before);
    await this.#made;
  }

  /**
   * Takes what was made, for the conversation as it has become. Waits while it is under way, unless aborted.
   *
   * @param enough Tokens that the request may have with it, `tokens` those that it has without.
   */
  async take(
    context: readonly Message[],
    tokens: number,
    enough: number,
    signal: AbortSignal,
  ): Promise<Prepared> {
    const made = await unlessAborted(Promise.resolve(this.#made), signal).catch(() => undefined);
    if (made === undefined) return {};
    const { length } = this.#before;
    const tokensAfter = tokens - made.tokensBefore + made.tokensAfter;
    // Without usage no model wrote it: then it is made anew at once, from all that was said since.
    const isOfUse =
      made.status === 'applied' &&
      made.usage !== undefined &&
      tokensAfter <= enough &&
      this.#before.every((message, index) => context[index] === message);
    if (!isOfUse) return { spent: made.usage };
    const since = context.slice(length);
    const outcome = {
      ...made,
      reason: `${made.reason}; made in the background`,
      messages: [...made.messages, ...since],
      tokensBefore: Math.round(tokens),
      tokensAfter: Math.round(tokensAfter),
      messagesBefore: context.length,
      messagesAfter: made.messages.length + since.length,
    };
    return { ready: { before: [...context], outcome } };
  }
}

/** Adds what was spent in vain to an outcome, so that it is reported. */
export function withSpent(outcome: CompactionOutcome, spent: Usage | undefined): CompactionOutcome {
  if (!spent) return outcome;
  return { ...outcome, usage: outcome.usage ? addUsage(outcome.usage, spent) : spent };
}
