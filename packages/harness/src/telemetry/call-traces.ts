import {
  type Attributes,
  type Context,
  context,
  type Histogram,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import type { AgentState, CallScope } from '@x/core';
import { spendingOf } from '../capabilities/budget/budget.js';
import { callAttributes, errorAttributes } from './conventions.js';
import type { Instruments } from './instruments.js';

/** Something that happened in a call: a name, attributes, and when. */
type Note = readonly [name: string, attributes: Attributes, at: number];

/** A call from the moment when it came in. */
export interface Arrival {
  /** Milliseconds since 1970, and of the steady clock. */
  readonly at: number;
  readonly steadyAt: number;
  /** What happened before it had a span. */
  readonly notes: Note[];
  span?: Span;
}

/** Spans and measurements under way in one call. */
export interface CallTrace {
  /** The parent of everything that belongs to the call. */
  readonly context: Context;
  /** Absent outside of calls, as when a session is compacted by hand. */
  readonly span: Span | undefined;
  readonly startedAt: number;
  /** What the session had cost before. */
  readonly costBefore: number;
  compaction?: Span | undefined;
  chat?: Chat | undefined;
  /** A summary stands in the conversation. */
  compacted: boolean;
  steps: number;
  toolCalls: number;
}

/** A model call under way. */
interface Chat {
  readonly span: Span;
  readonly startedAt: number;
  lastChunkAt?: number;
}

interface Work {
  readonly name: string;
  readonly kind?: SpanKind;
  readonly attributes: Attributes;
  readonly duration: Histogram;
  /** Attributes of the duration. The work may add some. */
  readonly measured: Attributes;
}

/** What spans and measurements are made with. */
interface Recorder {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  /** Spans may hold what was said. */
  readonly captureContent: boolean;
  /** The provider's name, in place of the ones in the models' ids. */
  readonly provider: string | undefined;
}

/** The traces of calls, by the state that each call has for itself. */
export class CallTraces implements Recorder {
  readonly #traces = new WeakMap<AgentState, CallTrace>();
  readonly #arrivals = new Map<string, Arrival>();
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly captureContent: boolean;
  readonly provider: string | undefined;

  constructor({ tracer, instruments, captureContent, provider }: Recorder) {
    this.tracer = tracer;
    this.instruments = instruments;
    this.captureContent = captureContent;
    this.provider = provider;
  }

  arrive(callId: string): void {
    this.#arrivals.set(callId, { at: Date.now(), steadyAt: performance.now(), notes: [] });
  }

  /** Answers a call that is over. */
  leave(callId: string): Arrival | undefined {
    const arrival = this.#arrivals.get(callId);
    this.#arrivals.delete(callId);
    return arrival;
  }

  /** Adds an event to the span of a call, once there is one. */
  note(callId: string, name: string, attributes: Attributes): void {
    const arrival = this.#arrivals.get(callId);
    if (arrival?.span === undefined) arrival?.notes.push([name, attributes, Date.now()]);
    else arrival.span.addEvent(name, attributes);
  }

  /** Begins the trace of a call with its span, which begins when the call came in. */
  beginCall(scope: CallScope, attributes: Attributes): void {
    const arrival = this.#arrivals.get(scope.callId);
    const startTime = arrival === undefined ? {} : { startTime: arrival.at };
    const options = { kind: SpanKind.INTERNAL, attributes, ...startTime };
    const span = this.tracer.startSpan(`invoke_agent ${scope.agentId}`, options);
    for (const [name, noted, at] of arrival?.notes ?? []) span.addEvent(name, noted, at);
    if (arrival !== undefined) arrival.span = span;
    this.begin(scope, span, arrival?.steadyAt);
  }

  /** Begins the trace of a call with its span; without a span, that of work outside of calls. */
  begin({ state }: CallScope, span?: Span, startedAt = performance.now()): CallTrace {
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

  of(scope: CallScope): CallTrace {
    return this.#traces.get(scope.state) ?? this.begin(scope);
  }

  /** Begins a span of a call, a child of the call's. */
  start(operation: string, scope: CallScope, attributes: Attributes, startTime?: number): Span {
    const options = {
      kind: SpanKind.INTERNAL,
      attributes: { 'gen_ai.operation.name': operation, ...callAttributes(scope), ...attributes },
      ...(startTime === undefined ? {} : { startTime }),
    };
    return this.tracer.startSpan(operation, options, this.of(scope).context);
  }

  /** Works within a span, which is the parent of what the work starts, and measures how long it takes. */
  async within<Result>(
    scope: CallScope,
    { name, kind = SpanKind.INTERNAL, attributes, duration, measured }: Work,
    work: (span: Span) => Promise<Result>,
  ): Promise<Result> {
    const options = { kind, attributes: { ...measured, ...callAttributes(scope), ...attributes } };
    const startedAt = performance.now();
    return this.tracer.startActiveSpan(name, options, this.of(scope).context, async (span) => {
      try {
        return await work(span);
      } catch (error) {
        Object.assign(measured, errorAttributes(error));
        this.markFailed(span, error);
        throw error;
      } finally {
        duration.record(secondsSince(startedAt), measured);
        span.end();
      }
    });
  }

  /** Marks a span as failed. An interruption is an end like others. */
  markFailed(span: Span, error: unknown): void {
    span.setAttributes(errorAttributes(error));
    if (error instanceof Error && error.name === 'AbortError') return;
    const message = this.captureContent && error instanceof Error ? { message: error.message } : {};
    span.setStatus({ code: SpanStatusCode.ERROR, ...message });
  }
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}
