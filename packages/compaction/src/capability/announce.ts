import type { CompactionOutcome, CompactionReason, ReasonScope } from '@x/core';

/**
 * Tells everybody who listens what came of a compaction.
 *
 * @param modelId Whose tokens the outcome counts.
 */
export function announce(
  scope: ReasonScope,
  reason: CompactionReason,
  outcome: CompactionOutcome,
  modelId: string,
): void {
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
  if (outcome.usage) {
    scope.emit({ type: 'usage.reported', source: 'compaction', modelId, usage: outcome.usage });
  }
}
