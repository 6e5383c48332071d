import type { ManifestEntry, Message, TokenCounter } from '@x/core';

/** What a strategy knows about the replayed agent. Sizes in tokens. */
export interface ReplaySetting {
  /** The model's context window. */
  readonly window: number;
  /** The largest request, if nothing is reduced. */
  readonly peak?: number | undefined;
  /** Request size at which simple strategies reduce. */
  readonly trigger: number;
  readonly counter: TokenCounter;
  /** What is sent ahead of the messages and never reduced: a text of `overhead` tokens. */
  readonly system: string;
  readonly overhead: number;
  /** Ends the replay early. */
  readonly signal?: AbortSignal | undefined;
}

/** A conversation made smaller. */
export interface Reduced {
  readonly messages: readonly Message[];
  /** The fate of every message that was removed or changed. */
  readonly manifest: readonly ManifestEntry[];
  /** Tokens that a summarizer read for it. */
  readonly summarizerTokens?: number;
}

/** Called before each model call with the request. Returns the reduced messages, or nothing to leave them. */
export type Reduce = (messages: readonly Message[]) => Promise<Reduced | undefined>;

/** Begins a conversation. */
export type Strategy = (setting: ReplaySetting) => Reduce;
