import { type CallScope, isContextOverflow, type ReasonScope } from '@x/core';
import { mayBeOverflow, overflowFigures } from '@x/core/internal';
import { errorLine } from '../conversation/text.js';
import { type ContextWindow, contextWindowOf } from '../run/budget.js';
import type { SessionMemory } from './session-memory.js';
import {
  calibrate,
  calibrationOf,
  doubtWindow,
  isPlausible,
  learnWindow,
  toldWindow,
} from './stored-state.js';

/** An error of unknown meaning may be an overflow if the request fills at least this share of the window. */
const DOUBTFUL_SHARE = 0.7;
/** Tokens that a provider may add to a request. A smaller difference does not show that our count is wrong. */
const OWN_PROMPT = 10_000;
/** In a request below this share of the window, and below `OWN_PROMPT`, such tokens may be most of the reported ones. */
const TELLING_SHARE = 0.25;
/** Bytes per counted token. Texts have fewer, encoded files have more. */
const BYTES_OF_TEXT = 16;
/** A warning is emitted if the ratio of reported to counted tokens is above `HIGH_RATIO` for `STEADY` reports in a row. */
const HIGH_RATIO = 1.6;
const STEADY = 5;

export type Emit = ReasonScope['emit'];

/** Keeps a model's window and the ratio of the provider's token count to ours. Learns both from overflow errors and usage reports. */
export class WindowKnowledge {
  readonly #configured: number | undefined;
  /** The id of the model of the agent that was built first, whose window the configuration overrides. */
  own: string | undefined;
  readonly #warned = new Set<string>();

  constructor(configured: number | undefined) {
    this.#configured = configured;
  }

  /** Emits a warning unless one with the same key was emitted before. */
  warnOnce(emit: Emit, key: string, message: string): void {
    if (!this.#warned.has(key)) emit({ type: 'warning', source: 'compaction', message });
    this.#warned.add(key);
  }

  /** Returns the window that the configuration or the model declares. A fallback's window may be smaller than the configured one. */
  #declared({ model }: CallScope): number | undefined {
    const configured = this.#configured;
    if (configured === undefined || model.id === this.own) return configured ?? model.contextWindow;
    return Math.min(configured, model.contextWindow ?? configured);
  }

  /** Returns the smallest known window: declared, or learned from an overflow error. */
  of(scope: CallScope): ContextWindow {
    const { state, model, emit } = scope;
    const known = [this.#declared(scope), toldWindow(state, model)].filter((tokens) => tokens !== undefined);
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
   * Learns the window and the ratio of the counts from an overflow error.
   *
   * @param counted Our uncalibrated count of the rejected request, in tokens.
   * @returns Whether the error contained the size of the request.
   */
  learnFromOverflow(scope: CallScope, counted: number, error: unknown): boolean {
    if (!isContextOverflow(error)) return false;
    const { state, model } = scope;
    const tokens = counted * calibrationOf(state, model);
    const { inputTokens = 0, contextWindow } = overflowFigures(error);
    const named = this.#declared(scope);
    // An overflow error without a number shows at least that the window is smaller than the request.
    const told = contextWindow ?? (named === undefined ? tokens : undefined);
    if (told !== undefined && told < (named ?? Number.POSITIVE_INFINITY)) learnWindow(state, model, told);
    const { tokens: window } = this.of(scope);
    const isMeasured = inputTokens > window && isPlausible(inputTokens / counted);
    if (isMeasured) calibrate(state, model, inputTokens, counted, 1);
    else if (tokens < window) calibrate(state, model, window, counted, 1);
    return isMeasured;
  }

  /**
   * Learns from an overflow error without numbers that the window is much smaller than declared, once a smaller request has succeeded.
   * Before that, the error may have another cause. Ignores requests with large files, because their bytes may be the cause.
   *
   * @param counted Our uncalibrated count of the rejected request, in tokens.
   * @param bytes The size of its conversation.
   */
  learnFromRetry(scope: CallScope, counted: number, bytes: number, error: unknown): void {
    const { inputTokens, contextWindow } = overflowFigures(error);
    const isBare = isContextOverflow(error) && inputTokens === undefined && contextWindow === undefined;
    const { tokens: window } = this.of(scope);
    const tokens = counted * calibrationOf(scope.state, scope.model);
    const isExplained = tokens >= window || isPlausible(window / counted) || bytes >= counted * BYTES_OF_TEXT;
    if (isBare && !isExplained) learnWindow(scope.state, scope.model, tokens);
  }

  /** Counts a compaction, after some of which a learned window is tried again if the model declares a larger one. */
  compacted(scope: CallScope): void {
    if (this.#declared(scope) !== undefined) doubtWindow(scope.state, scope.model);
  }

  /**
   * Tests if an unknown error may mean that the request was too large. Returns `true` at most once until a request succeeds again.
   */
  mayBeTooLarge(scope: CallScope, memory: SessionMemory, counted: number, error: unknown): boolean {
    const { state, model, emit } = scope;
    const { tokens: window, isKnown } = this.of(scope);
    const used = (counted * calibrationOf(state, model)) / window;
    if (memory.isDoubted || !isKnown || used < DOUBTFUL_SHARE || !mayBeOverflow(error)) return false;
    memory.isDoubted = true;
    const message =
      `${model.id} rejected a request that fills ${Math.round(used * 100)} % of its window. The request may be too large, so ` +
      `the conversation is reduced, and the request is sent once more. The error: ${errorLine(error)}`;
    emit({ type: 'warning', source: 'compaction', message });
    return true;
  }

  /** Calibrates our count with the usage that a provider reports. Warns if a report is implausible. */
  learnUsage(scope: CallScope, memory: SessionMemory, reported: number, counted: number): void {
    const { state, model, emit } = scope;
    memory.isDoubted = false;
    if (!(reported > 0 && counted > 0)) return;
    const ratio = reported / counted;
    const isTelling = counted >= Math.min(OWN_PROMPT, this.of(scope).tokens * TELLING_SHARE);
    if (isTelling) calibrate(state, model, reported, counted);
    if (!isPlausible(ratio)) {
      if (Math.abs(reported - counted) < OWN_PROMPT) return;
      const cause =
        ratio > 1 ? 'are cached tokens counted more than once' : 'are cached tokens left out of inputTokens';
      const message = `${model.id} reports ${reported} tokens for a request of about ${counted}: ${cause}? Such reports are ignored.`;
      this.warnOnce(emit, `usage ${model.id}`, message);
      return;
    }
    memory.highReports = ratio > HIGH_RATIO && counted > OWN_PROMPT ? memory.highReports + 1 : 0;
    if (memory.highReports < STEADY) return;
    const message =
      `${model.id} repeatedly reports ${ratio.toFixed(1)} times the tokens that are counted here, so reductions begin early. ` +
      'If cached tokens are counted twice, fix the adapter. Otherwise set `counter` to a token counter for this model.';
    this.warnOnce(emit, `ratio ${model.id}`, message);
  }
}
