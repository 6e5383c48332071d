import type { CompactionOutcome, CompactionStatus, Message } from '@x/core';

/** The outcome of a compaction that changed nothing. */
export function unchangedOutcome(
  status: CompactionStatus,
  reason: string,
  messages: readonly Message[],
  tokens: number,
): CompactionOutcome {
  return {
    status,
    reason,
    messages,
    steps: [],
    tokensBefore: tokens,
    tokensAfter: tokens,
    messagesBefore: messages.length,
    messagesAfter: messages.length,
    durationMs: 0,
    manifest: [],
  };
}
