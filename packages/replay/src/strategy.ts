import type { ManifestEntry, Message, TokenCounter } from '@x/core';

/** What a strategy knows about the replayed agent. Sizes in tokens. */
export interface ReplaySetting {
  /** The model's context window. */
  readonly window: number;
  /** Tokens of the largest request if nothing is reduced. */
  readonly peak: number;
  /** Request size at which simple strategies reduce. */
  readonly trigger: number;
  readonly counter: TokenCounter;
  /** A text of `overhead` tokens that is sent before the messages and never reduced. */
  readonly system: string;
  readonly overhead: number;
  /** Aborts the replay. */
  readonly signal?: AbortSignal | undefined;
}

/** The result of a reduction. */
export interface Reduced {
  readonly messages: readonly Message[];
  /** What happened to each message that was removed or changed. */
  readonly manifest: readonly ManifestEntry[];
  /** Tokens that a summarizer read for this reduction. */
  readonly summarizerTokens?: number;
}

/** Called before each model call with the messages of the request. Returns `undefined` to leave them unchanged. */
export type Reduce = (messages: readonly Message[]) => Promise<Reduced | undefined>;

/** Called once per conversation. Returns the function that reduces it. */
export type Strategy = (setting: ReplaySetting) => Reduce;
