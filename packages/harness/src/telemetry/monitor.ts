import { type Attributes, context, SpanKind } from '@opentelemetry/api';
import type { AgentActivity } from '@x/core';
import type { CallTraces } from './call-traces.js';
import { errorAttributes } from './conventions.js';

type Handlers = {
  readonly [Type in AgentActivity['type']]: (
    activity: Extract<AgentActivity, { readonly type: Type }>,
    traces: CallTraces,
    agent: Attributes,
  ) => void;
};

/** Traces and measures what happens around a call. */
export function monitor(activity: AgentActivity, traces: CallTraces): void {
  const handler = HANDLERS[activity.type] as Handlers['call.queued'];
  handler(activity as never, traces, { 'gen_ai.agent.name': activity.agentId });
}

const HANDLERS: Handlers = {
  'call.queued'({ callId }, traces, agent) {
    traces.arrive(callId);
    traces.instruments.waiting.add(1, agent);
  },
  'call.placed'({ callId, waitedMs }, traces, agent) {
    traces.instruments.waiting.add(-1, agent);
    traces.instruments.running.add(1, agent);
    waited(traces, callId, waitedMs, { ...agent, 'x.agent.wait': 'place' });
  },
  'turn.taken': ({ callId, waitedMs }, traces, agent) =>
    waited(traces, callId, waitedMs, { ...agent, 'x.agent.wait': 'turn' }),
  'turn.taken_over'(_, traces, agent) {
    traces.instruments.takeovers.add(1, agent);
  },
  'turn.lost'(_, traces, agent) {
    traces.instruments.lostTurns.add(1, agent);
  },
  'store.request'({ callId, operation, durationMs, outcome }, traces) {
    const attributes = { 'x.store.operation': operation, 'x.store.outcome': outcome };
    traces.instruments.storeDuration.record(durationMs / 1_000, attributes);
    traces.note(callId, 'store', { ...attributes, 'x.store.seconds': durationMs / 1_000 });
  },
  'call.ended'({ callId, stage, error, kind, sessionId, agentId }, traces, agent) {
    const { waiting, running, refused } = traces.instruments;
    (stage === 'queued' ? waiting : running).add(-1, agent);
    const arrival = traces.leave(callId);
    // Whoever gave up the wait was not refused.
    if (error === undefined || stage === 'begun' || (error as Error).name === 'AbortError') return;
    refused.add(1, { ...agent, ...errorAttributes(error) });
    if (kind === 'command' || arrival === undefined) return;
    const attributes = {
      ...agent,
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.conversation.id': sessionId,
    };
    const options = { kind: SpanKind.INTERNAL, attributes, startTime: arrival.at };
    const span = traces.tracer.startSpan(`invoke_agent ${agentId}`, options, context.active());
    for (const [name, noted, at] of arrival.notes) span.addEvent(name, noted, at);
    traces.markFailed(span, error);
    span.end();
  },
};

function waited(traces: CallTraces, callId: string, waitedMs: number, attributes: Attributes): void {
  traces.instruments.wait.record(waitedMs / 1_000, attributes);
  traces.note(callId, 'wait', {
    'x.agent.wait': attributes['x.agent.wait'],
    'x.agent.wait.seconds': waitedMs / 1_000,
  });
}
