import type { Message, TokenCounter } from '@x/core';
import { ContextMeter } from '@x/core/internal';
import { marksOf } from '../conversation/marks.js';

/** What a capability remembers of one loaded state between steps, so that a step costs only what it adds. */
export class SessionTracker {
  /** Counts as the counter does, uncalibrated. */
  readonly meter: ContextMeter;
  /** A compaction is under way. */
  busy = false;
  /** `true` if a request was refused for an unknown reason, and none has succeeded since. */
  isDoubted = false;
  /** The size of the last request, as a share of the size at which a compaction is due. */
  fill = 1;
  /** Reports in a row of more tokens than a provider should count. */
  highReports = 0;
  /** Grows with every reduction. Measurements of another version are invalid. */
  version = 0;
  /** Tokens of system prompt, tools and reminders in the last request. */
  frame = 0;
  readonly #truncations = new Set<string>();
  /** The version whose truncations are known. */
  #searched = -1;

  constructor(counter: TokenCounter) {
    this.meter = new ContextMeter(counter, (message) => {
      const { truncated } = marksOf(message);
      if (typeof truncated === 'string') this.#truncations.add(truncated);
    });
  }

  /** Returns the texts that mark cut arguments of calls. Only a reduction adds more. */
  truncations(context: readonly Message[]): ReadonlySet<string> {
    if (this.#searched !== this.version) this.meter.conversation(context);
    this.#searched = this.version;
    return this.#truncations;
  }
}
