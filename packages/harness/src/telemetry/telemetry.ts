import {
  type Attributes,
  context,
  type Meter,
  metrics,
  type Span,
  SpanKind,
  SpanStatusCode,
  type Tracer,
  trace,
} from '@opentelemetry/api';
import {
  type Capability,
  type ContentBlock,
  type FileBlock,
  type Message,
  type ModelRequest,
  type ModelResponse,
  parseWith,
  type ReasonScope,
  textOf,
} from '@x/core';
import * as z from 'zod';
import { CallTraces, within } from './call-trace.js';
import { ATTRIBUTE, CONVENTIONS_VERSION, createInstruments, OPERATION } from './conventions.js';
import { observeCall, observeContext } from './observe.js';
import {
  callAttributes,
  errorAttributes,
  markFailed,
  modelAttributes,
  type Recorder,
  recordUsage,
  secondsSince,
  usageAttributes,
} from './recorder.js';

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
 * compactions and conflicts. Without an SDK nothing is recorded. By default only names, counts, ids and classes of errors are
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
  const recorder: Recorder = {
    traces: new CallTraces(),
    tracer: tracer ?? trace.getTracer(SCOPE, CONVENTIONS_VERSION),
    instruments: createInstruments(meter ?? metrics.getMeter(SCOPE, CONVENTIONS_VERSION)),
    captureContent,
    provider,
  };
  return {
    name: 'telemetry',
    observe(event, scope) {
      observeCall(recorder, event, scope);
      observeContext(recorder, event, scope);
    },
    aroundCall: (scope, next) => context.with(recorder.traces.of(scope).context, next),
    aroundModel: (request, scope, next) => traceModel(recorder, request, scope, () => next(request)),
    async aroundTool(call, scope, next) {
      const common = { [ATTRIBUTE.operation]: OPERATION.executeTool, [ATTRIBUTE.toolName]: call.name };
      const attributes = {
        ...common,
        ...callAttributes(scope),
        [ATTRIBUTE.toolType]: 'function',
        [ATTRIBUTE.toolCallId]: call.id,
        ...(captureContent ? { [ATTRIBUTE.toolArguments]: JSON.stringify(call.input) } : {}),
      };
      const options = { kind: SpanKind.INTERNAL, attributes };
      const parent = recorder.traces.of(scope).context;
      const startedAt = performance.now();
      const name = `${OPERATION.executeTool} ${call.name}`;
      return within(recorder.tracer, parent, [name, options], async (span) => {
        let failure = {};
        try {
          const result = await next(call);
          if (captureContent) span.setAttribute(ATTRIBUTE.toolResult, textOf([result]));
          if (result.isError) {
            failure = { [ATTRIBUTE.errorType]: 'tool_error' };
            span.setAttributes(failure).setStatus({ code: SpanStatusCode.ERROR });
          }
          return result;
        } catch (error) {
          failure = errorAttributes(error);
          markFailed(span, error, captureContent);
          throw error;
        } finally {
          recorder.instruments.toolDuration.record(secondsSince(startedAt), { ...common, ...failure });
        }
      });
    },
  };
}

async function traceModel(
  recorder: Recorder,
  request: ModelRequest,
  scope: ReasonScope,
  next: () => Promise<ModelResponse>,
): Promise<ModelResponse> {
  const { instruments, tracer, traces, captureContent } = recorder;
  const common = modelAttributes(recorder, scope.model, OPERATION.chat);
  const call = traces.of(scope);
  const attributes = { ...common, ...callAttributes(scope), ...requestAttributes(request, call.compacted) };
  const name = `${OPERATION.chat} ${common[ATTRIBUTE.requestModel]}`;
  return within(tracer, call.context, [name, { kind: SpanKind.CLIENT, attributes }], async (span) => {
    const chat: NonNullable<typeof call.chat> = {
      startedAt: performance.now(),
      firstChunkAt: undefined,
      lastChunkAt: undefined,
      span,
    };
    call.chat = chat;
    if (captureContent && span.isRecording()) captureRequest(span, request);
    let measured: Attributes = common;
    try {
      const response = await next();
      const { id, model, finishReason } = response;
      if (model !== undefined) measured = { ...measured, [ATTRIBUTE.responseModel]: model };
      span.setAttributes({
        [ATTRIBUTE.finishReasons]: [FINISH[finishReason] ?? finishReason],
        [ATTRIBUTE.responseId]: id,
        [ATTRIBUTE.responseModel]: model,
        ...usageAttributes(response.usage),
      });
      if (captureContent) {
        span.setAttribute(
          ATTRIBUTE.outputMessages,
          messagesJson([{ role: 'assistant', content: response.content }]),
        );
      }
      if (response.usage !== undefined) recordUsage(instruments, response.usage, measured);
      return response;
    } catch (error) {
      measured = { ...measured, ...errorAttributes(error) };
      span.setAttribute(ATTRIBUTE.finishReasons, ['error']);
      markFailed(span, error, captureContent);
      throw error;
    } finally {
      call.chat = undefined;
      instruments.inferenceDuration.record(secondsSince(chat.startedAt), measured);
      if (chat.firstChunkAt !== undefined) {
        const seconds = (chat.firstChunkAt - chat.startedAt) / 1_000;
        span.setAttributes({ [ATTRIBUTE.requestStream]: true, [ATTRIBUTE.timeToFirstChunk]: seconds });
        instruments.timeToFirstChunk.record(seconds, measured);
      }
    }
  });
}

function requestAttributes(request: ModelRequest, compacted: boolean): Attributes {
  const { maxOutputTokens, temperature, responseFormat, reasoningEffort, stopSequences } = request;
  return {
    [ATTRIBUTE.requestMaxTokens]: maxOutputTokens,
    [ATTRIBUTE.requestTemperature]: temperature,
    [ATTRIBUTE.requestReasoning]: reasoningEffort,
    [ATTRIBUTE.requestStopSequences]: stopSequences && [...stopSequences],
    [ATTRIBUTE.outputType]: responseFormat && 'json',
    [ATTRIBUTE.conversationCompacted]: compacted || undefined,
  };
}

/** Our finish reasons in the conventions' words, where those differ. */
const FINISH: Readonly<Record<string, string>> = {
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
};

function captureRequest(span: Span, { system, messages, tools }: ModelRequest): void {
  const definitions = tools.map(({ name, description, inputSchema }) => ({
    type: 'function',
    name,
    description,
    parameters: inputSchema,
  }));
  if (tools.length > 0) span.setAttribute(ATTRIBUTE.toolDefinitions, JSON.stringify(definitions));
  span.setAttribute(ATTRIBUTE.inputMessages, messagesJson(messages));
  if (system !== undefined)
    span.setAttribute(ATTRIBUTE.systemInstructions, JSON.stringify([{ type: 'text', content: system }]));
}

/** Renders messages in the form of the conventions' JSON schemas, as the text of an attribute. */
function messagesJson(messages: readonly Pick<Message, 'role' | 'content'>[]): string {
  return JSON.stringify(messages.map(({ role, content }) => ({ role, parts: content.map(partOf) })));
}

function partOf(block: ContentBlock): object {
  switch (block.type) {
    case 'text':
      return { type: 'text', content: block.text };
    case 'thinking':
      return { type: 'reasoning', content: block.thinking };
    case 'tool_use':
      return { type: 'tool_call', id: block.id, name: block.name, arguments: block.input };
    case 'tool_result':
      return { type: 'tool_call_response', id: block.toolUseId, response: textOf([block]) };
    case 'file':
      return filePart(block);
    case 'opaque':
      return { type: 'opaque', provider: block.provider };
  }
}

const MODALITIES = ['image', 'video', 'audio'];

/** A file as a part: its place, or that there was one. Bytes have no place in a trace. */
function filePart({ mediaType, source }: FileBlock): object {
  const kind = mediaType.split('/', 1)[0] ?? '';
  const common = { mime_type: mediaType, modality: MODALITIES.includes(kind) ? kind : 'document' };
  if (source.type === 'url') return { type: 'uri', ...common, uri: source.url };
  if (source.type === 'base64') return { type: 'blob', ...common, content: '' };
  return { type: 'file', ...common, file_id: source.type === 'workspace' ? source.path : source.id };
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
  span.setAttribute(ATTRIBUTE.mcpMethod, 'tools/call');
  const { traceId, spanId, traceFlags, traceState } = span.spanContext();
  const traceparent = `00-${traceId}-${spanId}-${traceFlags.toString(16).padStart(2, '0')}`;
  const tracestate = traceState?.serialize();
  return { traceparent, ...(tracestate ? { tracestate } : {}) };
}
