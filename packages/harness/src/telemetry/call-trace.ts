import { type Context, context, type Span, type Tracer, trace } from '@opentelemetry/api';
import type { AgentState, CallScope } from '@x/core';

/** Spans and measurements under way in one call. */
export interface CallTrace {
  /** The parent of everything that belongs to the call. */
  readonly context: Context;
  /** Absent outside of calls, as when a session is compacted by hand. */
  readonly span: Span | undefined;
  readonly startedAt: number;
  compaction: Span | undefined;
  chat: Chat | undefined;
  /** There is a summary in the conversation. */
  compacted: boolean;
  steps: number;
  toolCalls: number;
}

/** A model call under way. */
interface Chat {
  readonly startedAt: number;
  firstChunkAt: number | undefined;
  lastChunkAt: number | undefined;
  readonly span: Span;
}

/** The traces of calls, by the state that each call alone has. */
export class CallTraces {
  readonly #traces = new WeakMap<AgentState, CallTrace>();

  /** Begins the trace of a call with its span; without one, of what happens outside of calls. */
  begin({ state }: CallScope, start?: () => Span): CallTrace {
    const parent = context.active();
    const span = start?.();
    const created: CallTrace = {
      context: span === undefined ? parent : trace.setSpan(parent, span),
      span,
      startedAt: performance.now(),
      compaction: undefined,
      chat: undefined,
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
}

/** Runs `task` within a span, so that what it starts becomes the span's child. */
export async function within<Result>(
  tracer: Tracer,
  parent: Context,
  [name, options]: Parameters<Tracer['startSpan']>,
  task: (span: Span) => Promise<Result>,
): Promise<Result> {
  const span = tracer.startSpan(name, options, parent);
  try {
    return await context.with(trace.setSpan(parent, span), () => task(span));
  } finally {
    span.end();
  }
}
