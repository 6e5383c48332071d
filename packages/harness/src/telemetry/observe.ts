import { type Attributes, SpanKind, SpanStatusCode } from '@opentelemetry/api';
import { type AgentEventBody, type CallScope, SessionConflictError } from '@x/core';
import { ATTRIBUTE, OPERATION } from './conventions.js';
import {
  agentAttributes,
  callAttributes,
  errorAttributes,
  markFailed,
  modelAttributes,
  type Recorder,
  recordUsage,
  secondsSince,
  usageAttributes,
} from './recorder.js';

/** Records the span of an agent call, and events of its model calls. */
export function observeCall(recorder: Recorder, event: AgentEventBody, scope: CallScope): void {
  const { instruments, traces, tracer } = recorder;
  const agent = { [ATTRIBUTE.agentName]: scope.agentId };
  const countConflict = (outcome: 'merged' | 'failed') =>
    instruments.conflicts.add(1, { ...agent, [ATTRIBUTE.conflictOutcome]: outcome });
  switch (event.type) {
    case 'call.started': {
      const attributes = { ...agentAttributes(recorder, scope), ...callAttributes(scope) };
      const name = `${OPERATION.invokeAgent} ${scope.agentId}`;
      traces.begin(scope, () => tracer.startSpan(name, { kind: SpanKind.INTERNAL, attributes }));
      return;
    }
    case 'model.started':
      traces.of(scope).steps++;
      return;
    case 'text.delta':
    case 'thinking.delta':
    case 'tool.delta': {
      const { chat } = traces.of(scope);
      if (chat === undefined) return;
      const now = performance.now();
      if (chat.lastChunkAt !== undefined) {
        const attributes = modelAttributes(recorder, scope.model, OPERATION.chat);
        instruments.timePerOutputChunk.record((now - chat.lastChunkAt) / 1_000, attributes);
      }
      chat.firstChunkAt ??= now;
      chat.lastChunkAt = now;
      return;
    }
    case 'tool.call':
      traces.of(scope).toolCalls++;
      return;
    case 'model.retrying': {
      instruments.retries.add(1, modelAttributes(recorder, scope.model, OPERATION.chat));
      traces.of(scope).chat?.span.addEvent('retry', { [ATTRIBUTE.retryAttempt]: event.attempt });
      return;
    }
    case 'model.fallback': {
      const attributes = modelAttributes(recorder, { id: event.from }, OPERATION.chat);
      instruments.fallbacks.add(1, { ...attributes, [ATTRIBUTE.fallbackModel]: event.to });
      traces.of(scope).span?.addEvent('fallback', { [ATTRIBUTE.fallbackModel]: event.to });
      return;
    }
    case 'session.merged':
      countConflict('merged');
      return;
    case 'call.completed': {
      const { span, steps } = traces.of(scope);
      span?.setAttributes({
        [ATTRIBUTE.stopReason]: event.stopReason,
        [ATTRIBUTE.steps]: steps,
        ...usageAttributes(event.usage),
      });
      span?.end();
      recordCall(recorder, scope, {});
      return;
    }
    case 'call.failed': {
      const { span } = traces.of(scope);
      if (span !== undefined) markFailed(span, event.error, recorder.captureContent);
      span?.end();
      recordCall(recorder, scope, errorAttributes(event.error));
      if (SessionConflictError.isInstance(event.error)) countConflict('failed');
      return;
    }
  }
}

function recordCall(recorder: Recorder, scope: CallScope, failure: Attributes): void {
  const { instruments, traces } = recorder;
  const { startedAt, steps, toolCalls } = traces.of(scope);
  const attributes = { ...agentAttributes(recorder, scope), ...failure };
  instruments.agentDuration.record(secondsSince(startedAt), attributes);
  instruments.inferenceCalls.record(steps, attributes);
  instruments.toolCalls.record(toolCalls, attributes);
}

/** Spans of compactions and of work on the memory, and the tokens of their model calls. */
export function observeContext(recorder: Recorder, event: AgentEventBody, scope: CallScope): void {
  const { instruments, traces, tracer } = recorder;
  switch (event.type) {
    case 'context.compacting': {
      const trace = traces.of(scope);
      const attributes = {
        [ATTRIBUTE.operation]: OPERATION.compact,
        ...callAttributes(scope),
        [ATTRIBUTE.compactionReason]: event.reason,
        [ATTRIBUTE.messagesBefore]: event.messagesBefore,
        [ATTRIBUTE.tokensBefore]: event.tokensBefore,
      };
      trace.compaction = tracer.startSpan(
        OPERATION.compact,
        { kind: SpanKind.INTERNAL, attributes },
        trace.context,
      );
      return;
    }
    case 'context.compacted': {
      const trace = traces.of(scope);
      const outcome = {
        [ATTRIBUTE.compactionReason]: event.reason,
        [ATTRIBUTE.compactionStatus]: event.status,
        [ATTRIBUTE.compactionStrategy]: event.strategyUsed,
      };
      trace.compaction?.setAttributes({
        ...outcome,
        [ATTRIBUTE.messagesAfter]: event.messagesAfter,
        [ATTRIBUTE.tokensAfter]: event.tokensAfter,
      });
      if (event.status === 'failed') trace.compaction?.setStatus({ code: SpanStatusCode.ERROR });
      trace.compaction?.end();
      trace.compaction = undefined;
      if (event.status === 'applied') trace.compacted = true;
      const attributes = { [ATTRIBUTE.agentName]: scope.agentId, ...outcome };
      instruments.compactions.add(1, attributes);
      instruments.compactionDuration.record(event.durationMs / 1_000, attributes);
      return;
    }
    case 'usage.reported': {
      // A subagent's calls are measured where they are made.
      if (event.taskId !== undefined) return;
      const attributes = modelAttributes(recorder, { id: event.modelId }, OPERATION.chat);
      recordUsage(instruments, event.usage, { ...attributes, [ATTRIBUTE.usageSource]: event.source });
      return;
    }
    case 'memory.flushed':
      addPast(recorder, scope, OPERATION.createMemory, event.durationMs, {
        [ATTRIBUTE.memoryRecords]: event.bullets,
      });
      return;
    case 'memory.consolidated':
      addPast(recorder, scope, OPERATION.updateMemory, event.durationMs, {});
      return;
    case 'memory.failed':
      addPast(recorder, scope, operationOf(event.operation), 0, { [ATTRIBUTE.errorType]: '_OTHER' });
      return;
  }
}

/** Records a span after the fact: work on the memory goes on in the background, and reports at its end. */
function addPast(
  { tracer, traces }: Recorder,
  scope: CallScope,
  operation: string,
  durationMs: number,
  attributes: Attributes,
): void {
  const span = tracer.startSpan(
    operation,
    {
      kind: SpanKind.INTERNAL,
      startTime: Date.now() - durationMs,
      attributes: { [ATTRIBUTE.operation]: operation, ...callAttributes(scope), ...attributes },
    },
    traces.of(scope).context,
  );
  if (attributes[ATTRIBUTE.errorType] !== undefined) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function operationOf(operation: 'flush' | 'consolidation' | 'maintenance'): string {
  return operation === 'flush' ? OPERATION.createMemory : OPERATION.updateMemory;
}
