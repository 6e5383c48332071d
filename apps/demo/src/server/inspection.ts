import type { CompactionStatus, CompactionStep, ManifestEntry } from '@x/core';

/** What the model would be sent now, message by message. */
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
  /** What it is, in a line. */
  readonly label: string;
}

/** What a compaction with other settings would do to a session now. */
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
