import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  type SpanOptions,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type AgentActivity,
  type AgentEventBody,
  type AgentState,
  type CallScope,
  type Capability,
  type ModelRequest,
  type ModelResponse,
  type ReasonScope,
  SessionConflictError,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  textOf,
} from '@x/core';
import { having, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { spendingOf } from '../capabilities/budget/budget.js';
import {
  CONVENTIONS_VERSION,
  callAttributes,
  errorAttributes,
  modelAttributes,
  requestAttributes,
  requestContent,
  responseAttributes,
  responseContent,
  usageAttributes,
} from './conventions.js';
import { createInstruments, type Instruments, recordUsage } from './instruments.js';

const telemetryConfigSchema = z.strictObject({
  /** Default: the tracer of the globally registered provider, even if it is registered later. */
  tracer: z.optional(having<Tracer>('startSpan', 'a tracer of @opentelemetry/api')),
  /** Default: the meter of the globally registered provider, even if it is registered later. */
  meter: z.optional(having<Meter>('createHistogram', 'a meter of @opentelemetry/api')),
  /** Also records messages, tool inputs, tool results and error messages. Default false. */
  captureContent: z.boolean().default(false),
  /** The provider's name, for models whose ids do not begin with it (as in `openai.responses:gpt-5`). */
  provider: z.string().min(1).optional(),
});

export type TelemetryConfig = z.input<typeof telemetryConfigSchema>;

const SCOPE = '@x/harness';

/**
 * Traces and measures an agent with the OpenTelemetry API, following the semantic conventions for generative AI. Spans: each call, model
 * call, tool call, compaction and memory update. Metrics: tokens, cache share, durations, compactions, conflicts, the store, and calls that
 * run, wait or are refused. Without an SDK nothing is recorded. By default only names, counts, ids and error classes are recorded;
 * `captureContent` adds the conversation.
 *
 * Install it first: it does not measure capabilities that are installed before it.
 *
 * @example
 * ```ts
 * import { compaction } from '@x/compaction';
 * import { HarnessAgent } from '@x/harness';
 * import { telemetry } from '@x/harness/telemetry';
 *
 * const agent = HarnessAgent.builder().model(model).use(telemetry(), compaction()).build();
 * ```
 * @throws {InvalidInputError} naming every unknown key.
 */
export function telemetry(config: TelemetryConfig = {}): Capability {
  return new Telemetry(parseWith(telemetryConfigSchema, config, 'telemetry configuration'));
}

/** Data of a call from its arrival on. */
interface Arrival {
  /** Arrival time in milliseconds since 1970, and by the monotonic clock. */
  readonly at: number;
  readonly steadyAt: number;
  /** Span events that were recorded before the span existed. */
  readonly notes: Parameters<Span['addEvent']>[];
  span?: Span;
}

/** Spans and measurements in progress in one call. */
interface CallTrace {
  /** The parent context of all spans of the call. */
  readonly context: Context;
  /** Undefined outside of calls, as when a session is compacted manually. */
  readonly span: Span | undefined;
  readonly startedAt: number;
  /** The session's cost before the call. */
  readonly costBefore: number;
  compaction?: Span | undefined;
  /** The model call in progress. */
  chat?: { readonly span: Span; readonly startedAt: number; isStreaming?: boolean } | undefined;
  /** Whether the conversation contains a summary. */
  compacted: boolean;
  steps: number;
  toolCalls: number;
}

interface Work {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes: Attributes;
  readonly duration: Histogram;
  /** Attributes of the measured duration. The work may add more. */
  readonly measured: Attributes;
}

type Events = {
  readonly [Type in AgentEventBody['type']]?: (
    event: Extract<AgentEventBody, { readonly type: Type }>,
    call: CallTrace,
    scope: CallScope,
  ) => void;
};

type Activities = {
  readonly [Type in AgentActivity['type']]: (
    activity: Extract<AgentActivity, { readonly type: Type }>,
    agent: Attributes,
  ) => void;
};

class Telemetry implements Capability {
  readonly name = 'telemetry';
  readonly #tracer: Tracer;
  readonly #instruments: Instruments;
  readonly #capturesContent: boolean;
  readonly #provider: string | undefined;
  /** Traces by state: each call has its own state object. */
  readonly #traces = new WeakMap<AgentState, CallTrace>();
  /** Arrivals by call id. */
  readonly #arrivals = new Map<string, Arrival>();

  constructor({ tracer, meter, captureContent, provider }: z.output<typeof telemetryConfigSchema>) {
    this.#tracer = tracer ?? trace.getTracer(SCOPE, CONVENTIONS_VERSION);
    this.#instruments = createInstruments(meter ?? metrics.getMeter(SCOPE, CONVENTIONS_VERSION));
    this.#capturesContent = captureContent;
    this.#provider = provider;
  }

  observe(event: AgentEventBody, scope: CallScope): void {
    const handle = this.#events[event.type] as Events['call.started'];
    handle?.(event as never, this.#of(scope), scope);
  }

  monitor(activity: AgentActivity): void {
    const handle = this.#activities[activity.type] as Activities['call.queued'];
    handle(activity as never, { 'gen_ai.agent.name': activity.agentId });
  }

  aroundCall(scope: CallScope, next: () => Promise<void>): Promise<void> {
    return context.with(this.#of(scope).context, next);
  }

  aroundModel(
    request: ModelRequest,
    scope: ReasonScope,
    next: (request: ModelRequest) => Promise<ModelResponse>,
  ): Promise<ModelResponse> {
    const call = this.#of(scope);
    const measured = this.#modelAttributes(scope.model);
    const work = {
      name: `chat ${measured['gen_ai.request.model']}`,
      kind: SpanKind.CLIENT,
      attributes: requestAttributes(request, call.compacted),
      duration: this.#instruments.inferenceDuration,
      measured,
    };
    return this.#within(scope, work, async (span) => {
      call.chat = { span, startedAt: performance.now() };
      if (this.#capturesContent && span.isRecording()) span.setAttributes(requestContent(request));
      try {
        const response = await next(request);
        const { model, usage } = response;
        if (model !== undefined) measured['gen_ai.response.model'] = model;
        span.setAttributes(responseAttributes(response));
        if (this.#capturesContent) span.setAttributes(responseContent(response));
        if (usage !== undefined) recordUsage(this.#instruments, usage, { ...measured });
        return response;
      } catch (error) {
        span.setAttribute('gen_ai.response.finish_reasons', ['error']);
        throw error;
      } finally {
        call.chat = undefined;
      }
    });
  }

  aroundTool(
    call: ToolUseBlock,
    scope: ToolScope,
    next: (call: ToolUseBlock) => Promise<ToolResultBlock>,
  ): Promise<ToolResultBlock> {
    // Unknown tools are measured as `_OTHER`, because each name that a model invents would create a new time series.
    const name = scope.tool?.definition.name ?? '_OTHER';
    const measured = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
    const attributes = {
      'gen_ai.tool.type': 'function',
      'gen_ai.tool.call.id': call.id,
      ...(this.#capturesContent ? { 'gen_ai.tool.call.arguments': JSON.stringify(call.input) } : {}),
    };
    const { toolDuration: duration } = this.#instruments;
    return this.#within(
      scope,
      { name: `execute_tool ${name}`, attributes, duration, measured },
      async (span) => {
        const result = await next(call);
        if (this.#capturesContent) span.setAttribute('gen_ai.tool.call.result', textOf([result]));
        if (result.isError) {
          const failure = { 'error.type': 'tool_error' };
          Object.assign(measured, failure);
          span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
        }
        return result;
      },
    );
  }

  /** Handlers of the events of a call. */
  readonly #events: Events = {
    'call.started': (_, __, scope) => {
      const arrival = this.#arrivals.get(scope.callId);
      const attributes = { ...this.#agentAttributes(scope), ...callAttributes(scope) };
      const span = this.#startCall(scope.agentId, attributes, arrival);
      if (arrival !== undefined) arrival.span = span;
      this.#begin(scope, span, arrival?.steadyAt);
    },
    'call.completed': ({ stopReason, usage }, call, scope) => {
      const steps = { 'x.agent.stop_reason': stopReason, 'x.agent.steps': call.steps };
      call.span?.setAttributes({ ...steps, ...usageAttributes(usage) });
      this.#endCall(call, scope, {});
      const { inputTokens: input, outputTokens: output } = usage;
      for (const [type, count] of Object.entries({ input, output })) {
        const attributes = { 'gen_ai.agent.name': scope.agentId, 'gen_ai.token.type': type };
        this.#instruments.callTokens.record(count, attributes);
      }
    },
    'call.failed': ({ error }, call, scope) => {
      if (call.span !== undefined) this.#markFailed(call.span, error);
      this.#endCall(call, scope, errorAttributes(error));
      if (SessionConflictError.isInstance(error)) this.#countConflict(scope, 'failed');
    },
    'session.merged': (_, __, scope) => this.#countConflict(scope, 'merged'),
    'model.started': (_, call) => {
      call.steps++;
    },
    'text.delta': (_, call, scope) => this.#recordChunk(call, scope),
    'thinking.delta': (_, call, scope) => this.#recordChunk(call, scope),
    'tool.delta': (_, call, scope) => this.#recordChunk(call, scope),
    'tool.call': (_, call) => {
      call.toolCalls++;
    },
    'model.retrying': ({ attempt }, call, scope) => {
      this.#instruments.retries.add(1, this.#modelAttributes(scope.model));
      call.chat?.span.addEvent('retry', { 'x.agent.retry.attempt': attempt });
    },
    'model.fallback': ({ from: id, to }, call) => {
      const fallback = { 'x.agent.fallback.model': to };
      this.#instruments.fallbacks.add(1, { ...this.#modelAttributes({ id }), ...fallback });
      call.span?.addEvent('fallback', fallback);
    },
    'usage.reported': ({ taskId, modelId: id, usage, source }) => {
      // A subagent's calls are measured by the subagent itself.
      if (taskId !== undefined) return;
      const attributes = { ...this.#modelAttributes({ id }), 'x.agent.usage.source': source };
      recordUsage(this.#instruments, usage, attributes);
    },
    'context.compacting': ({ reason, messagesBefore, tokensBefore }, call, scope) => {
      // The conventions define no operation for compaction by frameworks, so this name is ours.
      call.compaction = this.#start('compact', scope, {
        'x.compaction.reason': reason,
        'x.compaction.messages_before': messagesBefore,
        'x.compaction.tokens_before': tokensBefore,
      });
    },
    'context.compacted': (event, call, scope) => {
      const { reason, status, stagesUsed, messagesAfter, tokensAfter, durationMs } = event;
      const outcome = {
        'x.compaction.reason': reason,
        'x.compaction.status': status,
        'x.compaction.strategy': stagesUsed,
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
      this.#instruments.compactions.add(1, attributes);
      this.#instruments.compactionDuration.record(durationMs / 1_000, attributes);
    },
    // Memory work runs in the background and reports when it ends, so its spans are created afterwards.
    'memory.flushed': ({ durationMs, bullets }, _, scope) => {
      const attributes = { 'gen_ai.memory.record.count': bullets };
      this.#start('create_memory', scope, attributes, Date.now() - durationMs).end();
    },
    'memory.consolidated': ({ durationMs }, _, scope) => {
      this.#start('update_memory', scope, {}, Date.now() - durationMs).end();
    },
    'memory.failed': ({ operation }, _, scope) => {
      const name = operation === 'flush' ? 'create_memory' : 'update_memory';
      const span = this.#start(name, scope, { 'error.type': '_OTHER' });
      span.setStatus({ code: SpanStatusCode.ERROR }).end();
    },
  };

  /** Handlers of the activities around a call. */
  readonly #activities: Activities = {
    'call.queued': ({ callId }, agent) => {
      this.#arrivals.set(callId, { at: Date.now(), steadyAt: performance.now(), notes: [] });
      this.#instruments.waiting.add(1, agent);
    },
    'call.placed': ({ callId, waitedMs }, agent) => {
      this.#instruments.waiting.add(-1, agent);
      this.#instruments.running.add(1, agent);
      this.#recordWait(callId, 'place', waitedMs, agent);
    },
    'turn.awaited': (_, agent) => {
      this.#instruments.running.add(-1, agent);
      this.#instruments.waiting.add(1, agent);
    },
    'turn.taken': ({ callId, waitedMs }, agent) => this.#recordWait(callId, 'turn', waitedMs, agent),
    'turn.taken_over': (_, agent) => this.#instruments.takeovers.add(1, agent),
    'turn.lost': (_, agent) => this.#instruments.lostTurns.add(1, agent),
    'store.request': ({ callId, operation, durationMs, outcome }) => {
      const attributes = { 'x.store.operation': operation, 'x.store.outcome': outcome };
      this.#instruments.storeDuration.record(durationMs / 1_000, attributes);
      this.#note(callId, 'store', { ...attributes, 'x.store.seconds': durationMs / 1_000 });
    },
    'call.ended': ({ callId, stage, error, kind, sessionId, agentId }, agent) => {
      const { waiting, running, refused } = this.#instruments;
      (stage === 'queued' ? waiting : running).add(-1, agent);
      const arrival = this.#arrivals.get(callId);
      this.#arrivals.delete(callId);
      // A call whose caller gave up waiting was not refused.
      if (error === undefined || stage === 'begun' || (error as Error).name === 'AbortError') return;
      refused.add(1, { ...agent, ...errorAttributes(error) });
      if (kind === 'command' || arrival === undefined) return;
      const session = { 'gen_ai.operation.name': 'invoke_agent', 'gen_ai.conversation.id': sessionId };
      const span = this.#startCall(agentId, { ...agent, ...session }, arrival);
      this.#markFailed(span, error);
      span.end();
    },
  };

  #of(scope: CallScope): CallTrace {
    return this.#traces.get(scope.state) ?? this.#begin(scope);
  }

  /** Begins the trace of a call with its span, or without a span for work outside of calls. */
  #begin({ state }: CallScope, span?: Span, startedAt = performance.now()): CallTrace {
    const parent = context.active();
    const created: CallTrace = {
      context: span === undefined ? parent : trace.setSpan(parent, span),
      span,
      startedAt,
      costBefore: spendingOf(state).cost,
      compacted: state.context.some((message) => message.kind === 'summary'),
      steps: 0,
      toolCalls: 0,
    };
    this.#traces.set(state, created);
    return created;
  }

  /** Starts the span of a call, backdated to its arrival, with the events since then. */
  #startCall(agentId: string, attributes: Attributes, arrival: Arrival | undefined): Span {
    const startTime = arrival === undefined ? {} : { startTime: arrival.at };
    const options: SpanOptions = { kind: SpanKind.INTERNAL, attributes, ...startTime };
    const span = this.#tracer.startSpan(`invoke_agent ${agentId}`, options, context.active());
    for (const note of arrival?.notes ?? []) span.addEvent(...note);
    return span;
  }

  #endCall(
    { span, startedAt, costBefore, steps, toolCalls }: CallTrace,
    scope: CallScope,
    failure: Attributes,
  ): void {
    span?.end();
    const cost = spendingOf(scope.state).cost - costBefore;
    if (cost > 0) this.#instruments.callCost.record(cost, { 'gen_ai.agent.name': scope.agentId });
    const attributes = { ...this.#agentAttributes(scope), ...failure };
    this.#instruments.agentDuration.record(secondsSince(startedAt), attributes);
    this.#instruments.modelCalls.record(steps, attributes);
    this.#instruments.toolCalls.record(toolCalls, attributes);
  }

  /** Starts a child span of a call's span. */
  #start(operation: string, scope: CallScope, own: Attributes, startTime?: number): Span {
    const attributes = { 'gen_ai.operation.name': operation, ...callAttributes(scope), ...own };
    const began = startTime === undefined ? {} : { startTime };
    const options = { kind: SpanKind.INTERNAL, attributes, ...began };
    return this.#tracer.startSpan(operation, options, this.#of(scope).context);
  }

  /** Runs work within a span, which is the parent of spans that the work starts, and measures its duration. */
  #within<Result>(
    scope: CallScope,
    { name, kind = SpanKind.INTERNAL, attributes, duration, measured }: Work,
    work: (span: Span) => Promise<Result>,
  ): Promise<Result> {
    const options = { kind, attributes: { ...measured, ...callAttributes(scope), ...attributes } };
    const startedAt = performance.now();
    return this.#tracer.startActiveSpan(name, options, this.#of(scope).context, async (span) => {
      try {
        return await work(span);
      } catch (error) {
        Object.assign(measured, errorAttributes(error));
        this.#markFailed(span, error);
        throw error;
      } finally {
        duration.record(secondsSince(startedAt), measured);
        span.end();
      }
    });
  }

  /** Marks a span as failed. An interruption does not count as a failure. */
  #markFailed(span: Span, error: unknown): void {
    span.setAttributes(errorAttributes(error));
    if (error instanceof Error && error.name === 'AbortError') return;
    const message = this.#capturesContent && error instanceof Error ? { message: error.message } : {};
    span.setStatus({ code: SpanStatusCode.ERROR, ...message });
  }

  /** Adds an event to the span of a call, or keeps it until the span exists. */
  #note(callId: string, name: string, attributes: Attributes): void {
    const arrival = this.#arrivals.get(callId);
    if (arrival?.span === undefined) arrival?.notes.push([name, attributes, Date.now()]);
    else arrival.span.addEvent(name, attributes);
  }

  #recordWait(callId: string, wait: 'place' | 'turn', waitedMs: number, agent: Attributes): void {
    const seconds = waitedMs / 1_000;
    this.#instruments.wait.record(seconds, { ...agent, 'x.agent.wait': wait });
    this.#note(callId, 'wait', { 'x.agent.wait': wait, 'x.agent.wait.seconds': seconds });
  }

  /** Measures the time until the first chunk of a streamed answer. */
  #recordChunk({ chat }: CallTrace, scope: CallScope): void {
    if (chat === undefined || chat.isStreaming) return;
    chat.isStreaming = true;
    const seconds = secondsSince(chat.startedAt);
    this.#instruments.timeToFirstChunk.record(seconds, this.#modelAttributes(scope.model));
    const first = { 'gen_ai.request.stream': true, 'gen_ai.response.time_to_first_chunk': seconds };
    chat.span.setAttributes(first);
  }

  #countConflict({ agentId }: CallScope, outcome: string): void {
    const attributes = { 'gen_ai.agent.name': agentId, 'x.session.conflict.outcome': outcome };
    this.#instruments.conflicts.add(1, attributes);
  }

  #modelAttributes(model: Parameters<typeof modelAttributes>[1]): Attributes {
    return modelAttributes('chat', model, this.#provider);
  }

  /** Returns the attributes of every measurement of an agent call. */
  #agentAttributes({ model, agentId }: CallScope): Attributes {
    return { ...modelAttributes('invoke_agent', model, this.#provider), 'gen_ai.agent.name': agentId };
  }
}

function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}

/**
 * Returns the trace context of the running tool call in W3C format, for MCP servers. As `requestMeta` of `mcp()` it lets a server's spans
 * join the trace, and marks the tool's span as an MCP call.
 *
 * @example
 * ```ts
 * import { mcp } from '@x/harness/mcp';
 * import { traceContext } from '@x/harness/telemetry';
 *
 * const tools = await mcp({ servers: { docs: { command: 'docs-server' } } }, { requestMeta: traceContext });
 * ```
 */
export function traceContext(): Record<string, string> {
  const span = trace.getActiveSpan();
  if (span === undefined) return {};
  span.setAttribute('mcp.method.name', 'tools/call');
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return { traceparent, ...(tracestate ? { tracestate } : {}) };
}
