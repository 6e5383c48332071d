import {
  context,
  type Meter,
  metrics,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type Capability,
  type ModelRequest,
  type ModelResponse,
  type ReasonScope,
  type ToolResultBlock,
  type ToolScope,
  type ToolUseBlock,
  textOf,
} from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { CallTraces } from './call-traces.js';
import {
  CONVENTIONS_VERSION,
  modelAttributes,
  requestAttributes,
  requestContent,
  responseAttributes,
  responseContent,
} from './conventions.js';
import { createInstruments, recordUsage } from './instruments.js';
import { monitor } from './monitor.js';
import { observe } from './observe.js';

const withMethod = <Kind>(method: string, kind: string) =>
  z.custom<Kind>(
    (value) => typeof value === 'object' && value !== null && method in value,
    `must be ${kind} of @opentelemetry/api`,
  );

const telemetryConfigSchema = z.strictObject({
  /** Default: that of the globally registered provider, if one ever is. */
  tracer: withMethod<Tracer>('startSpan', 'a tracer').optional(),
  /** Default: that of the globally registered provider, if one ever is. */
  meter: withMethod<Meter>('createHistogram', 'a meter').optional(),
  /** Also records messages, inputs and results of tools, and the messages of errors. Default false. */
  captureContent: z.boolean().default(false),
  /** The provider's name, where the models' ids do not begin with it (`openai.responses:gpt-5`). */
  provider: z.string().min(1).optional(),
});

export type TelemetryConfig = z.input<typeof telemetryConfigSchema>;

const SCOPE = '@x/harness';

/**
 * Traces and measures an agent with the OpenTelemetry API, by the semantic conventions for generative AI: a span for each
 * call, model call, tool call, compaction and work on the memory; metrics for tokens, the cache's share, durations,
 * compactions and conflicts, for calls that run, wait or are refused, and for the store. Without an SDK nothing is recorded. By default only names, counts, ids and classes of errors are
 * recorded; `captureContent` adds the conversation.
 *
 * Install it first: its times leave out capabilities installed before it.
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
  const { tracer, meter, captureContent, provider } = parseWith(
    telemetryConfigSchema,
    config,
    'telemetry configuration',
  );
  const instruments = createInstruments(meter ?? metrics.getMeter(SCOPE, CONVENTIONS_VERSION));
  const traces = new CallTraces({
    tracer: tracer ?? trace.getTracer(SCOPE, CONVENTIONS_VERSION),
    instruments,
    captureContent,
    provider,
  });
  return {
    name: 'telemetry',
    observe: (event, scope) => observe(event, traces, scope),
    monitor: (activity) => monitor(activity, traces),
    aroundCall: (scope, next) => context.with(traces.of(scope).context, next),
    aroundModel: (request, scope, next) => traceModel(traces, request, scope, () => next(request)),
    aroundTool: (call, scope, next) => traceTool(traces, call, scope, () => next(call)),
  };
}

function traceModel(
  traces: CallTraces,
  request: ModelRequest,
  scope: ReasonScope,
  next: () => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const { instruments, captureContent } = traces;
  const call = traces.of(scope);
  const measured = modelAttributes('chat', scope.model, traces.provider);
  const work = {
    name: `chat ${measured['gen_ai.request.model']}`,
    kind: SpanKind.CLIENT,
    attributes: requestAttributes(request, call.compacted),
    duration: instruments.inferenceDuration,
    measured,
  };
  return traces.within(scope, work, async (span) => {
    call.chat = { span, startedAt: performance.now() };
    if (captureContent && span.isRecording()) span.setAttributes(requestContent(request));
    try {
      const response = await next();
      const { model, usage } = response;
      if (model !== undefined) measured['gen_ai.response.model'] = model;
      span.setAttributes(responseAttributes(response));
      if (captureContent) span.setAttributes(responseContent(response));
      if (usage !== undefined) recordUsage(instruments, usage, { ...measured });
      return response;
    } catch (error) {
      span.setAttribute('gen_ai.response.finish_reasons', ['error']);
      throw error;
    } finally {
      call.chat = undefined;
    }
  });
}

function traceTool(
  traces: CallTraces,
  call: ToolUseBlock,
  scope: ToolScope,
  next: () => Promise<ToolResultBlock>,
): Promise<ToolResultBlock> {
  const { instruments, captureContent } = traces;
  // A name that the model made up would be a series of its own.
  const name = scope.tool?.definition.name ?? '_OTHER';
  const measured = { 'gen_ai.operation.name': 'execute_tool', 'gen_ai.tool.name': name };
  const attributes = {
    'gen_ai.tool.type': 'function',
    'gen_ai.tool.call.id': call.id,
    ...(captureContent ? { 'gen_ai.tool.call.arguments': JSON.stringify(call.input) } : {}),
  };
  const work = {
    name: `execute_tool ${name}`,
    attributes,
    duration: instruments.toolDuration,
    measured,
  };
  return traces.within(scope, work, async (span) => {
    const result = await next();
    if (captureContent) span.setAttribute('gen_ai.tool.call.result', textOf([result]));
    if (result.isError) {
      const failure = { 'error.type': 'tool_error' };
      Object.assign(measured, failure);
      span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
    }
    return result;
  });
}

/**
 * The trace context of the running tool call in the form of W3C, for the servers that it asks: as `requestMeta` of `mcp()`
 * it lets a server's spans join the trace, and marks the tool's span as a call by MCP.
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
