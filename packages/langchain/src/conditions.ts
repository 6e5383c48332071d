import type { BaseMessage } from '@langchain/core/messages';
import { type Compactor, estimateCounter, InvalidInputError, type Message } from '@x/core';
import type { CompactionConfig } from '../config/compaction-config.js';
import { createCompactor } from '../create-compactor.js';
import { Meter } from '../meter.js';
import type { CompactionMiddlewareOptions, MiddlewareSize } from './middleware-options.js';

/** A compactor with what must be reached before it runs; without one it decides by itself. */
interface Condition {
  readonly size: MiddlewareSize | undefined;
  readonly compactor: Compactor;
}

/** LangChain's triggers: each condition has a compactor that aims below it. */
export class Conditions {
  readonly #conditions: readonly Condition[];
  readonly #count: CompactionMiddlewareOptions['tokenCounter'];
  readonly #window: number | undefined;
  readonly #meter = new Meter(estimateCounter);

  /**
   * @param base The compactor's configuration without its triggers.
   * @throws {InvalidInputError} when a fraction is asked for of a window that nobody knows, or keys contradict each other.
   */
  constructor(
    options: CompactionMiddlewareOptions,
    base: CompactionConfig,
    contextWindow: number | undefined,
  ) {
    this.#count = options.tokenCounter;
    this.#window = contextWindow;
    const { compactor, maxTokensBeforeSummary } = options;
    const given = options.trigger ?? (maxTokensBeforeSummary && { tokens: maxTokensBeforeSummary });
    const sizes = given
      ? Array.isArray(given)
        ? (given as MiddlewareSize[])
        : [given as MiddlewareSize]
      : [];
    this.#conditions = (sizes.length === 0 ? [undefined] : sizes).map((size) => ({
      size,
      compactor: compactor ?? createCompactor({ ...base, ...(size && this.#triggersOf(size)) }),
    }));
  }

  /** The compactor for an overflow. */
  get any(): Compactor {
    return (this.#conditions[0] as Condition).compactor;
  }

  /** The compactor to run now, if any, and whether it has to although its own count may say otherwise. */
  async due(
    sources: readonly BaseMessage[],
    messages: readonly Message[],
  ): Promise<{ readonly compactor: Compactor; readonly forced: boolean } | undefined> {
    let tokens: number | undefined;
    for (const { size, compactor } of this.#conditions) {
      if (size === undefined) return { compactor, forced: false };
      if (size.messages !== undefined && messages.length < size.messages) continue;
      const needed = this.#tokensOf(size);
      if (needed !== undefined) {
        tokens ??= this.#count ? await this.#count([...sources]) : this.#meter.messages(messages);
        if (tokens < needed) continue;
      }
      return { compactor, forced: this.#count !== undefined };
    }
    return undefined;
  }

  #triggersOf(size: MiddlewareSize): CompactionConfig {
    return {
      triggerMessages: size.messages ?? 0,
      triggerTokens: this.#tokensOf(size) ?? 0,
      budgetPercent: 0,
    };
  }

  /** Tokens from which on a condition is met; both sizes must be reached. */
  #tokensOf({ tokens, fraction }: MiddlewareSize): number | undefined {
    if (fraction === undefined) return tokens === undefined ? undefined : Math.floor(tokens);
    return Math.max(Math.floor(tokens ?? 0), shareOf(fraction, this.#window, 'trigger.fraction'));
  }
}

/** A share of the window in tokens. */
export function shareOf(fraction: number, window: number | undefined, path: string): number {
  if (window !== undefined) return Math.floor(window * fraction);
  const message = 'needs the context window: the model has no profile, so pass contextWindow';
  throw new InvalidInputError('compactionMiddleware options', [{ path, message }]);
}
