import { type CallScope, isContextOverflow, type ReasonScope } from '@x/core';
import { mayBeOverflow, overflowFigures } from '@x/core/internal';
import { errorLine } from '../conversation/text.js';
import { type ContextWindow, contextWindowOf } from '../run/budget.js';
import type { SessionTracker } from './session-memory.js';
import { calibrate, calibrationOf, isPlausible, learnWindow, toldWindow } from './stored-state.js';

/** A refusal for an unknown reason may be an overflow if the request fills at least this share of the window. */
const DOUBTFUL_SHARE = 0.7;
/** Tokens that a provider may add to a request. Within this difference, a report proves nothing about our count. */
const OWN_PROMPT = 10_000;
/** Warns if a provider reports more than this many tokens for each that we count, STEADY times in a row. */
const HIGH_RATIO = 1.6;
const STEADY = 5;

export type Emit = ReasonScope['emit'];

/** Knows a model's window, and how the provider's count differs from ours. Learns from refusals and usage. */
export class WindowKnowledge {
  readonly #configured: number | undefined;
  readonly #warned = new Set<string>();

  constructor(configured: number | undefined) {
    this.#configured = configured;
  }

  /** Emits a warning unless one with the same key was emitted before. */
  warnOnce(emit: Emit, key: string, message: string): void {
    if (!this.#warned.has(key)) emit({ type: 'warning', source: 'compaction', message });
    this.#warned.add(key);
  }

  /** Returns the smallest window of those configured, named by the model, and learned from a refusal. */
  of(scope: CallScope): ContextWindow {
    const { state, model, emit } = scope;
    const known = [this.#configured ?? model.contextWindow, toldWindow(state, model)].filter(
      (tokens) => tokens !== undefined,
    );
    const window = contextWindowOf(known.length > 0 ? Math.min(...known) : undefined);
    if (!window.isKnown) {
      const message =
        `The context window of ${model.id} is unknown; ${window.tokens} tokens are assumed. Set ` +
        'contextWindow (context_window in files) on the model or in the compaction configuration.';
      this.warnOnce(emit, model.id, message);
    }
    return window;
  }

  /**
   * Learns the window, and the error of our count, from an overflow.
   *
   * @param counted Our uncalibrated count of the refused request, in tokens.
   * @returns Whether the refusal named the size of the request.
   */
  learnFromOverflow(scope: CallScope, counted: number, error: unknown): boolean {
    if (!isContextOverflow(error)) return false;
    const { state, model } = scope;
    const tokens = counted * calibrationOf(state, model);
    const { inputTokens = 0, contextWindow } = overflowFigures(error);
    const named = this.#configured ?? model.contextWindow;
    // A refusal without a number proves at least that the window is smaller than the request.
    const told = contextWindow ?? (named === undefined ? tokens : undefined);
    if (told !== undefined && told < (named ?? Number.POSITIVE_INFINITY)) learnWindow(state, model, told);
    const { tokens: window } = this.of(scope);
    const isMeasured = inputTokens > window && isPlausible(inputTokens / counted);
    if (isMeasured) calibrate(state, model, inputTokens, counted, 1);
    else if (tokens < window) calibrate(state, model, window, counted, 1);
    return isMeasured;
  }

  /**
   * Tests if a provider may have refused a request for its size, in words that are not known. Returns true at most once until a request
   * succeeds again.
   */
  mayBeTooLarge(scope: CallScope, tracker: SessionTracker, counted: number, error: unknown): boolean {
    const { state, model, emit } = scope;
    const { tokens: window, isKnown } = this.of(scope);
    const used = (counted * calibrationOf(state, model)) / window;
    if (tracker.isDoubted || !isKnown || used < DOUBTFUL_SHARE || !mayBeOverflow(error)) return false;
    tracker.isDoubted = true;
    const message =
      `${model.id} refused a request that fills ${Math.round(used * 100)} % of its window: ${errorLine(error)}. ` +
      'These words are not known as those of an overflow. The conversation is reduced, and the request sent once more.';
    emit({ type: 'warning', source: 'compaction', message });
    return true;
  }

  /** Corrects our count by the usage that a provider reports. Warns if a report is not plausible. */
  learnUsage(scope: CallScope, tracker: SessionTracker, reported: number, counted: number): void {
    const { state, model, emit } = scope;
    tracker.isDoubted = false;
    if (!(reported > 0 && counted > 0)) return;
    const ratio = reported / counted;
    calibrate(state, model, reported, counted);
    if (!isPlausible(ratio)) {
      if (Math.abs(reported - counted) < OWN_PROMPT) return;
      const cause =
        ratio > 1 ? 'are cached tokens counted more than once' : 'are cached tokens left out of inputTokens';
      const message = `${model.id} reports ${reported} tokens for a request of about ${counted}: ${cause}? Such reports are ignored.`;
      this.warnOnce(emit, `usage ${model.id}`, message);
      return;
    }
    tracker.highReports = ratio > HIGH_RATIO && counted > OWN_PROMPT ? tracker.highReports + 1 : 0;
    if (tracker.highReports < STEADY) return;
    const message =
      `${model.id} reports ${ratio.toFixed(1)} tokens for each that is counted here, again and again, so reductions begin ` +
      'early. Are cached tokens counted twice? Otherwise give the counter of that model as `counter`.';
    this.warnOnce(emit, `ratio ${model.id}`, message);
  }
}
