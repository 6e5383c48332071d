import type { Message } from '@x/core';

/** What a provider billed for one model call of the recording, in tokens. */
export interface RecordedUsage {
  /** Index of the assistant message that answered the call. */
  readonly index: number;
  /** Input that was not read from a cache. */
  readonly inputTokens: number;
  readonly cachedInputTokens: number;
  readonly cacheWriteTokens: number;
  readonly outputTokens: number;
}

/** A compaction in the recording. `messages` of the conversation has the original messages, not the summary. */
export interface RecordedCompaction {
  /** Index of the first message after the compaction. */
  readonly beforeIndex: number;
  /** Tokens of the context before the compaction, if the log has this number. */
  readonly tokensBefore?: number | undefined;
  readonly summary?: string | undefined;
}

/** An agent's conversation, read from its log. Each call is directly followed by its result. */
export interface RecordedConversation {
  /** Name of the log's format. */
  readonly format: string;
  readonly id?: string;
  /** The model that answered last. */
  readonly model?: string;
  /** The system prompt, if the log has it. */
  readonly system?: string;
  readonly messages: readonly Message[];
  readonly usage: readonly RecordedUsage[];
  readonly compactions: readonly RecordedCompaction[];
  /** Number of lines and entries that could not be read, by reason. Excludes data that is not part of the conversation. */
  readonly unread: Readonly<Record<string, number>>;
}
