import { addUsage, type CompactionOutcome, type Message, type Usage } from '@x/core';

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
  #outcome: CompactionOutcome | undefined;
  #running: Promise<void> | undefined;

  constructor(before: readonly Message[]) {
    this.#before = before;
  }

  /** Makes it. Resolves when it is made, and never rejects: a failure is an outcome. */
  run(reduce: (messages: readonly Message[]) => Promise<CompactionOutcome>): Promise<void> {
    this.#running = reduce(this.#before).then((outcome) => {
      this.#outcome = outcome;
    });
    return this.#running;
  }

  /**
   * Takes what was made, for the conversation as it has become. Waits while it is under way.
   *
   * @param enough Tokens that the request may have with it, `tokens` those that it has without.
   */
  async take(
    context: readonly Message[],
    tokens: number,
    enough: number,
    signal: AbortSignal,
  ): Promise<Prepared> {
    await untilAborted(this.#running, signal);
    const made = this.#outcome;
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

function untilAborted(running: Promise<void> | undefined, signal: AbortSignal): Promise<void> {
  return new Promise((resolve, reject) => {
    if (signal.aborted || running === undefined) return resolve();
    const abort = () => resolve();
    signal.addEventListener('abort', abort, { once: true });
    running.then(resolve, reject).finally(() => signal.removeEventListener('abort', abort));
  });
}
