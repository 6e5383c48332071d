import type { CompactionOutcome, CompactionReason, ReasonScope } from '@x/core';

/** Tells everybody who listens what came of a compaction. */
export function announce(scope: ReasonScope, reason: CompactionReason, outcome: CompactionOutcome): void {
  const { status, messagesBefore, messagesAfter, tokensBefore, tokensAfter, durationMs, steps } = outcome;
  scope.emit({
    type: 'context.compacted',
    reason,
    status,
    detail: outcome.reason,
    strategyUsed: steps
      .filter((step) => step.tokensAfter < step.tokensBefore || step.messagesAfter < step.messagesBefore)
      .map((step) => step.strategy)
      .join('+'),
    messagesBefore,
    messagesAfter,
    tokensBefore,
    tokensAfter,
    durationMs,
    steps,
    manifest: outcome.manifest,
  });
}
