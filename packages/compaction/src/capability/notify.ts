import {
  type CompactionOutcome,
  type CompactionReason,
  type Message,
  type ReasonScope,
  textOf,
} from '@x/core';
import { redactorFor } from '../conversation/redaction.js';
import { errorLine } from '../conversation/text.js';
import { receiptOf } from '../receipt.js';
import type {
  BeforeCompaction,
  BeforeCompactionAnswer,
  ResolvedCapabilityConfig,
} from './capability-config.js';

/** Asks the `beforeCompaction` hook. */
export async function callBefore(
  { beforeCompaction }: ResolvedCapabilityConfig,
  scope: ReasonScope,
  input: BeforeCompaction,
): Promise<BeforeCompactionAnswer> {
  return (await guarded(scope, 'beforeCompaction', () => beforeCompaction?.(input, scope))) ?? {};
}

/** Calls the `afterCompaction` hook. */
export async function callAfter(
  { afterCompaction }: ResolvedCapabilityConfig,
  scope: ReasonScope,
  outcome: CompactionOutcome,
): Promise<void> {
  const summary = outcome.messages.findLast((message) => message.kind === 'summary');
  await guarded(scope, 'afterCompaction', () =>
    afterCompaction?.(
      {
        success: outcome.status === 'applied',
        messagesBefore: outcome.messagesBefore,
        messagesAfter: outcome.messagesAfter,
        summaryLength: summary ? textOf(summary).length : 0,
        outcome,
      },
      scope,
    ),
  );
}

/** Passes the messages about to be removed to each capability with `beforeReduction`. */
export async function flushRemoved(
  { flushBeforeCompact }: ResolvedCapabilityConfig,
  scope: ReasonScope,
  before: readonly Message[],
  outcome: CompactionOutcome,
): Promise<void> {
  if (!flushBeforeCompact) return;
  const staying = new Set(outcome.messages.map((message) => message.id));
  const removed = before.filter((message) => message.kind === undefined && !staying.has(message.id));
  if (removed.length === 0) return;
  await guarded(scope, 'beforeReduction', () => scope.beforeReduction?.(removed));
}

/** Calls a hook. If the hook throws, emits a warning and continues without its result. */
async function guarded<Value>(
  scope: ReasonScope,
  name: string,
  hook: () => Value | Promise<Value>,
): Promise<Value | undefined> {
  try {
    return await hook();
  } catch (error) {
    scope.emit({
      type: 'warning',
      source: 'compaction',
      message: `The ${name} hook threw: ${errorLine(error)}`,
    });
    return undefined;
  }
}

/** Emits the events about a compaction. */
export function announce(
  { redact }: ResolvedCapabilityConfig,
  scope: ReasonScope,
  reason: CompactionReason,
  before: readonly Message[],
  outcome: CompactionOutcome,
): void {
  const { messages: _messages, ...figures } = outcome;
  scope.emit({
    type: 'context.compacted',
    ...figures,
    reason,
    ...(outcome.status === 'applied' ? { gone: receiptOf(before, outcome, redactorFor(redact)).items } : {}),
    stagesUsed: figures.steps
      .filter((step) => step.tokensAfter < step.tokensBefore || step.messagesAfter < step.messagesBefore)
      .map((step) => step.stage)
      .join('+'),
  });
}
