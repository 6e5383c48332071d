import type { CompactionStatus, CompactionStep, ManifestEntry } from '@x/core';

/** The next request to the model, message by message. */
export interface WindowView {
  readonly messages: readonly WindowMessage[];
  /** Tokens around the conversation, as the last model call had them. */
  readonly system: number;
  readonly tools: number;
  readonly reminders: number;
}

export interface WindowMessage {
  readonly id: string;
  readonly source: 'summary' | 'conversation' | 'toolResults';
  readonly tokens: number;
  /** A description in one line. */
  readonly label: string;
}

/** The result that a compaction with other settings would have now. */
export interface CompactionPreview {
  readonly status: CompactionStatus;
  /** Why, in words. */
  readonly reason: string;
  readonly steps: readonly CompactionStep[];
  /** Tokens of the whole request. */
  readonly tokensBefore: number;
  readonly tokensAfter: number;
  readonly messagesBefore: number;
  readonly messagesAfter: number;
  readonly manifest: readonly ManifestEntry[];
}
