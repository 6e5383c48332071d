import { type Attributes, SpanStatusCode } from '@opentelemetry/api';
import { type AgentEventBody, type CallScope, SessionConflictError } from '@x/core';
import { spendingOf } from '../capabilities/budget/budget.js';
import { type CallTraces, secondsSince } from './call-traces.js';
import { callAttributes, errorAttributes, modelAttributes, usageAttributes } from './conventions.js';
import { recordUsage } from './instruments.js';

type Handler<Event> = (event: Event, traces: CallTraces, scope: CallScope) => void;
type Handlers = {
  readonly [Type in AgentEventBody['type']]?: Handler<Extract<AgentEventBody, { readonly type: Type }>>;
};

/** Traces and measures what an event tells. */
export function observe(event: AgentEventBody, traces: CallTraces, scope: CallScope): void {
  const handler = HANDLERS[event.type] as Handler<AgentEventBody> | undefined;
  handler?.(event, traces, scope);
}

const HANDLERS: Handlers = {
  'call.started'(_, traces, scope) {
    traces.beginCall(scope, { ...agentAttributes(traces, scope), ...callAttributes(scope) });
  },
  'call.completed'({ stopReason, usage }, traces, scope) {
    const { span, steps } = traces.of(scope);
    span?.setAttributes({
      'x.agent.stop_reason': stopReason,
      'x.agent.steps': steps,
      ...usageAttributes(usage),
    });
    endCall(traces, scope, {});
    const agent = { 'gen_ai.agent.name': scope.agentId };
    const { callTokens } = traces.instruments;
    callTokens.record(usage.inputTokens, { ...agent, 'gen_ai.token.type': 'input' });
    callTokens.record(usage.outputTokens, { ...agent, 'gen_ai.token.type': 'output' });
  },
  'call.failed'({ error }, traces, scope) {
    const { span } = traces.of(scope);
    if (span !== undefined) traces.markFailed(span, error);
    endCall(traces, scope, errorAttributes(error));
    if (SessionConflictError.isInstance(error)) countConflict(traces, scope, 'failed');
  },
  'session.merged': (_, traces, scope) => countConflict(traces, scope, 'merged'),
  'model.started'(_, traces, scope) {
    traces.of(scope).steps++;
  },
  'text.delta': (_, traces, scope) => recordChunk(traces, scope),
  'thinking.delta': (_, traces, scope) => recordChunk(traces, scope),
  'tool.delta': (_, traces, scope) => recordChunk(traces, scope),
  'tool.call'(_, traces, scope) {
    traces.of(scope).toolCalls++;
  },
  'model.retrying'({ attempt }, traces, scope) {
    traces.instruments.retries.add(1, modelAttributes('chat', scope.model, traces.provider));
    traces.of(scope).chat?.span.addEvent('retry', { 'x.agent.retry.attempt': attempt });
  },
  'model.fallback'({ from: id, to }, traces, scope) {
    const fallback = { 'x.agent.fallback.model': to };
    traces.instruments.fallbacks.add(1, { ...modelAttributes('chat', { id }, traces.provider), ...fallback });
    traces.of(scope).span?.addEvent('fallback', fallback);
  },
  'usage.reported'({ taskId, modelId: id, usage, source }, traces) {
    // A subagent's calls are measured where they are made.
    if (taskId !== undefined) return;
    const attributes = modelAttributes('chat', { id }, traces.provider);
    recordUsage(traces.instruments, usage, { ...attributes, 'x.agent.usage.source': source });
  },
  'context.compacting'({ reason, messagesBefore, tokensBefore }, traces, scope) {
    // The conventions leave compaction by frameworks open: the name is ours.
    traces.of(scope).compaction = traces.start('compact', scope, {
      'x.compaction.reason': reason,
      'x.compaction.messages_before': messagesBefore,
      'x.compaction.tokens_before': tokensBefore,
    });
  },
  'context.compacted'(event, traces, scope) {
    const { reason, status, strategyUsed, messagesAfter, tokensAfter, durationMs } = event;
    const call = traces.of(scope);
    const outcome = {
      'x.compaction.reason': reason,
      'x.compaction.status': status,
      'x.compaction.strategy': strategyUsed,
    };
    call.compaction?.setAttributes({
      ...outcome,
      'x.compaction.messages_after': messagesAfter,
      'x.compaction.tokens_after': tokensAfter,
    });
    if (status === 'failed') call.compaction?.setStatus({ code: SpanStatusCode.ERROR });
    call.compaction?.end();
    call.compaction = undefined;
    if (status === 'applied') call.compacted = true;
    const attributes = { 'gen_ai.agent.name': scope.agentId, ...outcome };
    traces.instruments.compactions.add(1, attributes);
    traces.instruments.compactionDuration.record(durationMs / 1_000, attributes);
  },
  // Work on the memory goes on in the background, and reports at its end: its spans are made after the fact.
  'memory.flushed'({ durationMs, bullets }, traces, scope) {
    const attributes = { 'gen_ai.memory.record.count': bullets };
    traces.start('create_memory', scope, attributes, Date.now() - durationMs).end();
  },
  'memory.consolidated'({ durationMs }, traces, scope) {
    traces.start('update_memory', scope, {}, Date.now() - durationMs).end();
  },
  'memory.failed'({ operation }, traces, scope) {
    const name = operation === 'flush' ? 'create_memory' : 'update_memory';
    const span = traces.start(name, scope, { 'error.type': '_OTHER' });
    span.setStatus({ code: SpanStatusCode.ERROR }).end();
  },
};

/** Attributes that every measurement of an agent call has. */
function agentAttributes({ provider }: CallTraces, { model, agentId }: CallScope): Attributes {
  return { ...modelAttributes('invoke_agent', model, provider), 'gen_ai.agent.name': agentId };
}

function endCall(traces: CallTraces, scope: CallScope, failure: Attributes): void {
  const { span, startedAt, costBefore, steps, toolCalls } = traces.of(scope);
  span?.end();
  const cost = spendingOf(scope.state).cost - costBefore;
  if (cost > 0) traces.instruments.callCost.record(cost, { 'gen_ai.agent.name': scope.agentId });
  const attributes = { ...agentAttributes(traces, scope), ...failure };
  traces.instruments.agentDuration.record(secondsSince(startedAt), attributes);
  traces.instruments.modelCalls.record(steps, attributes);
  traces.instruments.toolCalls.record(toolCalls, attributes);
}

function countConflict({ instruments }: CallTraces, { agentId }: CallScope, outcome: string): void {
  instruments.conflicts.add(1, { 'gen_ai.agent.name': agentId, 'x.session.conflict.outcome': outcome });
}

/** Measures a piece of a streamed answer: the first one from the beginning of the model call, others from the one before. */
function recordChunk(traces: CallTraces, scope: CallScope): void {
  const { chat } = traces.of(scope);
  if (chat === undefined) return;
  const { timeToFirstChunk, timePerOutputChunk } = traces.instruments;
  const isFirst = chat.lastChunkAt === undefined;
  const seconds = secondsSince(chat.lastChunkAt ?? chat.startedAt);
  const attributes = modelAttributes('chat', scope.model, traces.provider);
  (isFirst ? timeToFirstChunk : timePerOutputChunk).record(seconds, attributes);
  if (isFirst) {
    chat.span.setAttributes({
      'gen_ai.request.stream': true,
      'gen_ai.response.time_to_first_chunk': seconds,
    });
  }
  chat.lastChunkAt = performance.now();
}
