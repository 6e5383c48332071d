import type { Message } from '@x/core';

/** What a provider billed for one model call of the recording, in tokens. */
export interface RecordedUsage {
  /** Index of the assistant message that the call gave. */
  readonly index: number;
  /** Input that came from no cache. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

/** Where the recorded agent compacted. Its summary is not among the messages: the messages are what was said. */
export interface RecordedCompaction {
  /** Index of the first message after it. */
  readonly beforeIndex: number;
  /** Tokens that the context had, where the recording says so. */
  readonly tokensBefore?: number;
  readonly summary?: string;
}

/** A conversation that some agent had, as its log tells it. Every call has a result, right behind it. */
export interface RecordedConversation {
  /** The format that it was read from. */
  readonly format: string;
  readonly id?: string;
  /** The model that answered last. */
  readonly model?: string;
  /** The system prompt, where the log has it. */
  readonly system?: string;
  readonly messages: readonly Message[];
  readonly usage: readonly RecordedUsage[];
  readonly compactions: readonly RecordedCompaction[];
  /** Lines and entries that could not be read, by reason. What a format has beside the conversation does not count. */
  readonly unread: Readonly<Record<string, number>>;
}
