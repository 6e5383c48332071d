import { SpanKind } from '@opentelemetry/api';
import { type AgentEventBody, type CallScope, SessionConflictError } from '@x/core';
import { ATTRIBUTE, OPERATION } from './conventions.js';
import { errorAttributes, markFailed } from './failure.js';
import { usageAttributes } from './record-usage.js';
import { agentAttributes, callAttributes, modelAttributes, type Recorder, secondsSince } from './recorder.js';

/** The span of an agent call, and what is said while its model is called. */
export function observeCall(recorder: Recorder, event: AgentEventBody, scope: CallScope): void {
  const { instruments, traces, tracer } = recorder;
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
    case 'thinking.delta': {
      const { chat } = traces.of(scope);
      if (chat !== undefined) chat.firstChunkAt ??= performance.now();
      return;
    }
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
      instruments.conflicts.add(1, {
        [ATTRIBUTE.agentName]: scope.agentId,
        [ATTRIBUTE.conflictOutcome]: 'merged',
      });
      return;
    case 'call.completed': {
      const { span, startedAt, steps } = traces.of(scope);
      span?.setAttributes({
        [ATTRIBUTE.stopReason]: event.stopReason,
        [ATTRIBUTE.steps]: steps,
        ...usageAttributes(event.usage),
      });
      span?.end();
      instruments.agentDuration.record(secondsSince(startedAt), agentAttributes(recorder, scope));
      return;
    }
    case 'call.failed': {
      const { span, startedAt } = traces.of(scope);
      if (span !== undefined) markFailed(span, event.error, recorder.captureContent);
      span?.end();
      const attributes = { ...agentAttributes(recorder, scope), ...errorAttributes(event.error) };
      instruments.agentDuration.record(secondsSince(startedAt), attributes);
      if (!SessionConflictError.isInstance(event.error)) return;
      instruments.conflicts.add(1, {
        [ATTRIBUTE.agentName]: scope.agentId,
        [ATTRIBUTE.conflictOutcome]: 'failed',
      });
      return;
    }
  }
}
