import { type Span as ApiSpan, context as otel, trace } from '@opentelemetry/api';
import { AsyncLocalStorageContextManager } from '@opentelemetry/context-async-hooks';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  type ReadableSpan,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { compaction } from '@x/compaction';
import {
  type Capability,
  defineTool,
  estimateCounter,
  InMemorySession,
  InvalidInputError,
  ModelError,
  RuntimeContext,
  SessionConflictError,
  userMessage,
} from '@x/core';
import type { FileSource } from '@x/core/messages';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { z } from 'zod';
import { type AgentSettings, budget, HarnessAgent } from '../../src/index.js';
import { mcp } from '../../src/mcp/index.js';
import { telemetry, traceContext } from '../../src/telemetry/index.js';
import type { TelemetryConfig } from '../../src/telemetry/telemetry.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });
const SECRET = 'the secret is 42';
const usage = {
  inputTokens: 100,
  outputTokens: 10,
  cachedInputTokens: 80,
  cacheWriteTokens: 5,
  reasoningTokens: 3,
};

beforeAll(() => {
  otel.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
});
afterAll(() => {
  otel.disable();
});

interface Options extends TelemetryConfig {
  readonly capabilities?: readonly Capability[];
  readonly fallback?: readonly ScriptedModel[];
  readonly session?: InMemorySession;
  readonly onConflict?: 'fail' | 'merge';
  readonly settings?: AgentSettings;
}

function setUp(script: readonly ScriptEntry[], options: Options = {}) {
  const {
    capabilities = [],
    fallback = [],
    session = new InMemorySession(),
    onConflict,
    settings = {},
    ...config
  } = options;
  const spans = new InMemorySpanExporter();
  const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer(
    'test',
  );
  const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter, exportIntervalMillis: 3_600_000 });
  const meter = new MeterProvider({ readers: [reader] }).getMeter('test');
  const inTool: (ApiSpan | undefined)[] = [];
  const look = defineTool({
    name: 'look',
    description: 'Looks',
    input: z.object({ at: z.string() }),
    execute({ at }) {
      inTool.push(trace.getActiveSpan());
      if (at === 'nowhere') throw new Error(SECRET);
      return `${SECRET} ${'word '.repeat(100)}`;
    },
  });
  const builder = HarnessAgent.builder()
    .name('guide')
    .systemPrompt(SECRET)
    .model(new ScriptedModel(script, { id: 'openai.responses:gpt-5' }), { fallback })
    .workspace(scratch())
    .session(session)
    .tools(look)
    .settings({ retryDelayMs: 0, ...settings })
    .use(telemetry({ tracer, meter, ...config }), ...capabilities);
  const agent = onConflict === undefined ? builder.build() : builder.onConflict(onConflict).build();

  /** Points of a metric, by its name. */
  async function points(name: string) {
    await reader.forceFlush();
    const found = exporter
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics)
      .find((metric) => metric.descriptor.name === name);
    return found?.dataPoints.map(({ attributes, value }) => ({ attributes, value })) ?? [];
  }
  return { agent, inTool, points, finished: () => spans.getFinishedSpans() };
}

const named = (spans: readonly ReadableSpan[], name: string) => spans.filter((span) => span.name === name);
const LOOK = { toolCalls: [{ name: 'look', input: { at: SECRET } }], usage };

describe('telemetry', () => {
  it('traces a call, its model calls and its tools as a tree', async () => {
    const { agent, finished, inTool } = setUp([LOOK, { text: SECRET, usage }]);
    await agent.call('Hi', context);
    const spans = finished();
    expect(spans.map((span) => span.name)).toEqual([
      'chat gpt-5',
      'execute_tool look',
      'chat gpt-5',
      'invoke_agent guide',
    ]);
    const root = named(spans, 'invoke_agent guide')[0];
    const children = spans.filter((span) => span !== root);
    expect(children.every((span) => span.parentSpanContext?.spanId === root?.spanContext().spanId)).toBe(
      true,
    );
    expect(inTool[0]?.spanContext().spanId).toBe(named(spans, 'execute_tool look')[0]?.spanContext().spanId);
    expect(root?.attributes).toEqual({
      'gen_ai.operation.name': 'invoke_agent',
      'gen_ai.provider.name': 'openai',
      'gen_ai.request.model': 'gpt-5',
      'gen_ai.agent.name': 'guide',
      'gen_ai.conversation.id': 's-1',
      'gen_ai.usage.input_tokens': 200,
      'gen_ai.usage.output_tokens': 20,
      'gen_ai.usage.cache_read.input_tokens': 160,
      'gen_ai.usage.cache_write.input_tokens': 10,
      'gen_ai.usage.reasoning.output_tokens': 6,
      'x.agent.stop_reason': 'completed',
      'x.agent.steps': 2,
    });
    expect(named(spans, 'chat gpt-5')[0]?.attributes).toMatchObject({
      'gen_ai.operation.name': 'chat',
      'gen_ai.response.finish_reasons': ['tool_call'],
      'gen_ai.usage.input_tokens': 100,
    });
    expect(named(spans, 'execute_tool look')[0]?.attributes).toMatchObject({
      'gen_ai.tool.name': 'look',
      'gen_ai.tool.type': 'function',
    });
  });

  it('writes nothing that was said, by anybody, also in errors', async () => {
    const failing = { toolCalls: [{ name: 'look', input: { at: 'nowhere' } }], usage };
    const { agent, finished, points } = setUp([failing, LOOK, { error: new ModelError(SECRET) }]);
    await expect(agent.call(SECRET, context)).rejects.toThrow(SECRET);
    const written = finished().map(({ name, attributes, events, status }) => ({
      name,
      attributes,
      events,
      status,
    }));
    expect(JSON.stringify(written)).not.toContain('secret');
    expect(JSON.stringify(await points('gen_ai.client.inference.duration'))).not.toContain('secret');
    expect(JSON.stringify(written)).not.toContain('alice');
  });

  it('writes it when it is told to', async () => {
    const { agent, finished } = setUp([LOOK, { text: 'Goodbye', usage }], { captureContent: true });
    await agent.call('Hi', context);
    const [first, tool, last] = finished();
    expect(JSON.parse(String(first?.attributes['gen_ai.input.messages']))).toEqual([
      { role: 'user', parts: [{ type: 'text', content: 'Hi' }] },
    ]);
    expect(JSON.parse(String(first?.attributes['gen_ai.system_instructions']))).toEqual([
      { type: 'text', content: SECRET },
    ]);
    expect(tool?.attributes['gen_ai.tool.call.arguments']).toBe(JSON.stringify({ at: SECRET }));
    expect(String(tool?.attributes['gen_ai.tool.call.result'])).toContain(SECRET);
    expect(JSON.parse(String(last?.attributes['gen_ai.output.messages']))).toEqual([
      { role: 'assistant', parts: [{ type: 'text', content: 'Goodbye' }] },
    ]);
  });

  it('marks what failed with the class of the error', async () => {
    const failing = { toolCalls: [{ name: 'look', input: { at: 'nowhere' } }], usage };
    const { agent, finished, points } = setUp([failing, { error: new ModelError('no', { status: 400 }) }]);
    await expect(agent.call('Hi', context)).rejects.toThrow();
    const failures = finished().map((span) => [span.name, span.attributes['error.type'], span.status.code]);
    expect(failures).toEqual([
      ['chat gpt-5', undefined, 0],
      ['execute_tool look', 'tool_error', 2],
      ['chat gpt-5', 'model_error', 2],
      ['invoke_agent guide', 'model_error', 2],
    ]);
    expect(await points('gen_ai.invoke_agent.duration')).toMatchObject([
      { attributes: { 'error.type': 'model_error' }, value: { count: 1 } },
    ]);
  });

  it('counts tokens, the cache’s share and durations', async () => {
    const { agent, points } = setUp([LOOK, { text: 'Bye', usage }]);
    await collect(agent.stream('Hi', context));
    const attributes = { 'gen_ai.provider.name': 'openai', 'gen_ai.request.model': 'gpt-5' };
    const values = async (name: string) => (await points(name)).map(({ value }) => value);
    expect(await points('gen_ai.client.inference.usage.input_tokens')).toMatchObject([
      { attributes, value: 200 },
    ]);
    expect(await values('gen_ai.client.inference.usage.output_tokens')).toEqual([20]);
    expect(await values('gen_ai.client.inference.usage.cache_read.input_tokens')).toEqual([160]);
    expect(await values('gen_ai.client.inference.usage.cache_write.input_tokens')).toEqual([10]);
    expect(await values('gen_ai.client.inference.usage.reasoning.output_tokens')).toEqual([6]);
    expect(await values('x.agent.cache.share')).toMatchObject([{ count: 2, sum: 1.6 }]);
    expect(await values('gen_ai.client.inference.duration')).toMatchObject([{ count: 2 }]);
    expect(await values('gen_ai.client.inference.time_to_first_chunk')).toMatchObject([{ count: 2 }]);
    expect(await points('gen_ai.execute_tool.duration')).toMatchObject([
      { attributes: { 'gen_ai.tool.name': 'look' }, value: { count: 1 } },
    ]);
  });

  it('counts the calls of models and tools in a call, and times the first piece of a streamed answer', async () => {
    const { agent, points } = setUp([LOOK, { text: 'Goodbye', usage, chunks: ['Good', 'bye'] }]);
    await collect(agent.stream('Hi', context));
    const values = async (name: string) => (await points(name)).map(({ value }) => value);
    expect(await values('gen_ai.invoke_agent.inference_calls')).toMatchObject([{ count: 1, sum: 2 }]);
    expect(await values('gen_ai.invoke_agent.tool_calls')).toMatchObject([{ count: 1, sum: 1 }]);
    expect(await values('gen_ai.client.inference.time_to_first_chunk')).toMatchObject([
      { count: expect.any(Number) },
    ]);
  });

  it('names the answer, the model that gave it, and how it was asked', async () => {
    const answering: Capability = {
      name: 'answering',
      aroundModel: async (request, _, next) => ({
        ...(await next(request)),
        id: 'resp-1',
        model: 'gpt-5-2026',
      }),
    };
    const { agent, finished, points } = setUp([{ text: 'Hello', usage }], {
      capabilities: [answering],
      captureContent: true,
    });
    const control = { reasoningEffort: 'high', stopSequences: ['END'] };
    await collect(agent.stream('Hi', context, control));
    const [chat] = finished();
    expect(chat?.attributes).toMatchObject({
      'gen_ai.response.id': 'resp-1',
      'gen_ai.response.model': 'gpt-5-2026',
      'gen_ai.request.stream': true,
      'gen_ai.request.reasoning.level': 'high',
      'gen_ai.request.stop_sequences': ['END'],
    });
    expect(chat?.attributes['gen_ai.response.time_to_first_chunk']).toBeGreaterThanOrEqual(0);
    expect(JSON.parse(String(chat?.attributes['gen_ai.tool.definitions']))).toMatchObject([
      { type: 'function', name: 'look', parameters: { type: 'object' } },
    ]);
    expect(await points('gen_ai.client.inference.duration')).toMatchObject([
      { attributes: { 'gen_ai.response.model': 'gpt-5-2026' } },
    ]);
  });

  it.each([
    ['stop', 'stop'],
    ['length', 'length'],
    ['content-filter', 'content_filter'],
    ['error', 'error'],
  ] as const)('tells the finish reason %s in the words of the conventions', async (finishReason, told) => {
    const { agent, finished } = setUp([{ text: 'Hello', usage, finishReason }]);
    await agent.call('Hi', context).catch(() => {});
    const chat = named(finished(), 'chat gpt-5')[0];
    expect(chat?.attributes['gen_ai.response.finish_reasons']).toEqual([told]);
  });

  it('describes files by their place, never by their bytes', async () => {
    const file = (mediaType: string, source: FileSource) => ({ type: 'file', mediaType, source }) as const;
    const { agent, finished } = setUp([{ text: 'Seen', usage }], { captureContent: true });
    const message = userMessage([
      { type: 'text', text: 'See' },
      file('image/png', { type: 'base64', data: 'c2VjcmV0' }),
      file('audio/mp3', { type: 'url', url: 'https://example.com/a.mp3' }),
      file('application/pdf', { type: 'provider', provider: 'openai', id: 'file-1' }),
    ]);
    await agent.call(message, context);
    const [{ parts }] = JSON.parse(String(finished()[0]?.attributes['gen_ai.input.messages']));
    expect(parts.slice(1)).toEqual([
      { type: 'blob', mime_type: 'image/png', modality: 'image', content: '' },
      { type: 'uri', mime_type: 'audio/mpeg', modality: 'audio', uri: 'https://example.com/a.mp3' },
      { type: 'file', mime_type: 'application/pdf', modality: 'document', file_id: 'file-1' },
    ]);
  });

  it('lets an MCP server join the trace of the tool that calls it', async () => {
    const metas: unknown[] = [];
    const client = {
      listTools: async () => ({ tools: [{ name: 'look_up', inputSchema: { type: 'object' } }] }),
      callTool: async ({ _meta }: { readonly _meta?: unknown }) => {
        metas.push(_meta);
        return { content: [{ type: 'text', text: 'found' }] };
      },
    };
    const servers = await mcp({ servers: { docs: { client } } } as never, { requestMeta: traceContext });
    const call = { toolCalls: [{ name: 'mcp__docs__look_up', input: {} }], usage };
    const { agent, finished } = setUp([call, { text: 'Bye', usage }], { capabilities: [servers] });
    await agent.call('Hi', context);
    const span = named(finished(), 'execute_tool mcp__docs__look_up')[0];
    expect(span?.attributes['mcp.method.name']).toBe('tools/call');
    const { traceId, spanId } = span?.spanContext() ?? {};
    expect(metas).toEqual([{ traceparent: `00-${traceId}-${spanId}-01` }]);
    expect(traceContext()).toEqual({});
  });

  it('traces and counts compactions, and what their models use', async () => {
    const SUMMARY = '## SESSION INTENT\nA\n## SUMMARY\nB\n## ARTIFACTS\nC\n## NEXT STEPS\nD';
    const summarizer = new ScriptedModel([{ text: SUMMARY, usage }], { id: 'anthropic:small' });
    const rounds = Array.from({ length: 5 }, () => LOOK);
    const { agent, finished, points } = setUp([...rounds, { text: 'Bye', usage }], {
      capabilities: [
        compaction({
          trigger: { messages: 9 },
          keep: { messages: 2 },
          stages: ['summarize', 'drop_oldest'],
          model: summarizer,
          counter: estimateCounter,
        }),
      ],
    });
    await agent.call('Hi', context);
    const [span] = named(finished(), 'compact');
    const root = named(finished(), 'invoke_agent guide')[0];
    expect(span?.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
    expect(span?.attributes).toMatchObject({
      'x.compaction.reason': 'proactive_budget',
      'x.compaction.status': 'applied',
      'x.compaction.messages_before': 9,
    });
    expect(await points('x.agent.compactions')).toMatchObject([
      { attributes: { 'x.compaction.status': 'applied' }, value: 1 },
    ]);
    expect(
      (await points('gen_ai.client.inference.usage.input_tokens')).map(({ attributes, value }) => [
        attributes['gen_ai.request.model'],
        attributes['x.agent.usage.source'],
        value,
      ]),
    ).toContainEqual(['small', 'compaction', 100]);
    const compacted = named(finished(), 'chat gpt-5').map(
      (chat) => chat.attributes['gen_ai.conversation.compacted'],
    );
    expect(compacted).toEqual([undefined, undefined, undefined, undefined, true, true]);
  });

  it('traces work on the memory when it reports', async () => {
    const memory: Capability = {
      name: 'memory',
      async aroundCall(scope, next) {
        await next();
        scope.background('flush', async () => {
          scope.emit({
            type: 'memory.flushed',
            messages: 2,
            bullets: 3,
            durationMs: 50,
          });
          scope.emit({ type: 'memory.failed', operation: 'consolidation', error: SECRET });
        });
      },
    };
    const { agent, finished } = setUp([{ text: 'Bye', usage }], { capabilities: [memory] });
    await agent.call('Hi', context);
    await agent.close();
    const root = named(finished(), 'invoke_agent guide')[0];
    const [flush] = named(finished(), 'create_memory');
    expect(flush?.attributes['gen_ai.memory.record.count']).toBe(3);
    expect(flush?.parentSpanContext?.spanId).toBe(root?.spanContext().spanId);
    expect(named(finished(), 'update_memory')[0]?.status.code).toBe(2);
  });

  it('traces and measures the wait of a call, and its requests to store and log', async () => {
    const { agent, finished, points } = setUp([
      { text: 'one', usage },
      { text: 'two', usage },
    ]);
    await Promise.all([agent.call('Hi', context), agent.call('Hi', context)]);
    const [first, second] = named(finished(), 'invoke_agent guide');
    const millis = ([seconds = 0, nanos = 0]: readonly number[] = []) => seconds * 1_000 + nanos / 1e6;
    // The second came in with the first, and is over behind it.
    expect(millis(second?.startTime)).toBeLessThan(millis(first?.endTime));
    expect(millis(second?.endTime)).toBeGreaterThanOrEqual(millis(first?.endTime));
    const events = second?.events.map(({ name, attributes }) => [
      name,
      attributes?.['x.store.operation'] ?? attributes?.['x.agent.wait'],
    ]);
    expect(events).toEqual(
      expect.arrayContaining([
        ['wait', 'place'],
        ['wait', 'turn'],
        ['store', 'load'],
        ['store', 'log.append'],
        ['store', 'commit'],
      ]),
    );
    const waits = await points('x.agent.call.wait');
    expect(
      waits.map(({ attributes, value }) => [attributes['x.agent.wait'], (value as { count: number }).count]),
    ).toEqual([
      ['place', 2],
      ['turn', 2],
    ]);
    const requests = await points('x.agent.store.duration');
    const operations = requests.map(({ attributes }) => [
      attributes['x.store.operation'],
      attributes['x.store.outcome'],
    ]);
    expect(operations).toEqual(
      expect.arrayContaining([
        ['load', 'ok'],
        ['commit', 'ok'],
        ['log.append', 'ok'],
      ]),
    );
    expect(await points('x.agent.calls.running')).toMatchObject([{ value: 0 }]);
    expect(await points('x.agent.calls.waiting')).toMatchObject([{ value: 0 }]);
    expect(await points('x.agent.calls.refused')).toEqual([]);
  });

  it('counts what runs and waits, and traces and counts what is refused', async () => {
    let answer = () => {};
    const held = async () => {
      await new Promise<void>((resolve) => {
        answer = resolve;
      });
      return { text: 'Bye', usage };
    };
    const { agent, finished, points } = setUp([held, held], {
      settings: { maxRunningCalls: 1, maxWaitingCalls: 1 },
    });
    const calls = ['a', 'b', 'c'].map((sessionId) => agent.call('Hi', RuntimeContext.of({ sessionId })));
    await expect(calls[2]).rejects.toMatchObject({ code: 'overloaded' });
    expect(await points('x.agent.calls.running')).toMatchObject([
      { attributes: { 'gen_ai.agent.name': 'guide' }, value: 1 },
    ]);
    expect(await points('x.agent.calls.waiting')).toMatchObject([{ value: 1 }]);
    expect(await points('x.agent.calls.refused')).toMatchObject([
      { attributes: { 'error.type': 'overloaded' }, value: 1 },
    ]);
    expect(finished().map(({ name, attributes }) => [name, attributes['error.type']])).toEqual([
      ['invoke_agent guide', 'overloaded'],
    ]);
    const closed = agent.close({ drainMs: 0 });
    await Promise.allSettled(calls);
    answer();
    await closed;
    expect(await points('x.agent.calls.running')).toMatchObject([{ value: 0 }]);
    expect(await points('x.agent.calls.waiting')).toMatchObject([{ value: 0 }]);
  });

  it('counts the turns that it takes over from dead processes', async () => {
    const session = new InMemorySession();
    const { agent, points } = setUp([{ text: 'Hi', usage }], { session });
    const ghost = {
      process: 'gone',
      host: 'elsewhere',
      pid: 1,
      started: '',
      ttlMs: 1,
      token: 't',
      takenAt: '',
    };
    await session.leases.take(agent.keyOf(context), ghost);
    await agent.call('Hi', context);
    expect(await points('x.agent.turns.taken_over')).toMatchObject([{ value: 1 }]);
    expect(await points('x.agent.turns.lost')).toEqual([]);
  });

  it('has one series for all tools that a model made up', async () => {
    const invented = (count: number) => ({
      toolCalls: Array.from({ length: count }, (_, n) => ({ name: `invented_${n}`, input: {} })),
      usage,
    });
    const { agent, points, finished } = setUp([invented(20), LOOK, { text: 'Bye', usage }]);
    await agent.call('Hi', context);
    const series = await points('gen_ai.execute_tool.duration');
    expect(series.map(({ attributes }) => attributes['gen_ai.tool.name']).sort()).toEqual(['_OTHER', 'look']);
    expect(named(finished(), 'execute_tool _OTHER')).toHaveLength(20);
  });

  it('measures the tokens and the cost of each call', async () => {
    const capabilities = [budget({ maxCostPerSession: 5, prices: { '*': { input: 1_000, output: 2_000 } } })];
    const { agent, points } = setUp(
      [
        { text: 'Hi', usage },
        { text: 'Bye', usage },
      ],
      { capabilities },
    );
    for (const _ of ['first', 'second']) await agent.call('Hi', context);
    expect(await points('x.agent.call.cost')).toMatchObject([
      { value: { count: 2, sum: expect.closeTo(0.24) } },
    ]);
    const tokens = (await points('x.agent.call.tokens')).map(({ attributes, value }) => [
      attributes['gen_ai.token.type'],
      value,
    ]);
    expect(tokens).toMatchObject([
      ['input', { count: 2, sum: 200 }],
      ['output', { count: 2, sum: 20 }],
    ]);
  });

  it('counts retries and fallbacks', async () => {
    const overloaded = { error: new ModelError('busy', { retryable: true }) };
    const fallback = [new ScriptedModel([{ text: 'Bye', usage }], { id: 'anthropic:claude' })];
    const { agent, finished, points } = setUp(
      Array.from({ length: 4 }, () => overloaded),
      { fallback },
    );
    await agent.call('Hi', context);
    expect(await points('x.agent.model.retries')).toMatchObject([{ value: 3 }]);
    expect(await points('x.agent.model.fallbacks')).toMatchObject([
      { attributes: { 'x.agent.fallback.model': 'anthropic:claude' }, value: 1 },
    ]);
    expect(finished().map((span) => span.name)).toEqual(['chat gpt-5', 'chat claude', 'invoke_agent guide']);
    expect(finished()[0]?.events).toHaveLength(3);
  });

  it.each(['fail', 'merge'] as const)('counts conflicts: %s', async (onConflict) => {
    const session = new InMemorySession();
    const other = HarnessAgent.builder()
      .name('guide')
      .model(new ScriptedModel([{ text: 'Mine' }]))
      .workspace(scratch());
    const between = async () => {
      await other.session(withoutLease(session)).build().call('Me first', context);
      return { text: 'Bye', usage };
    };
    const { agent, points } = setUp([between], { session: withoutLease(session), onConflict });
    const call = agent.call('Hi', context);
    if (onConflict === 'fail') await expect(call).rejects.toBeInstanceOf(SessionConflictError);
    else await call;
    expect(await points('x.agent.session.conflicts')).toMatchObject([
      { attributes: { 'x.session.conflict.outcome': onConflict === 'fail' ? 'failed' : 'merged' }, value: 1 },
    ]);
  });

  it('is the parent of what other capabilities trace around a call', async () => {
    const active: (ApiSpan | undefined)[] = [];
    const other: Capability = {
      name: 'other',
      aroundCall(_scope, next) {
        active.push(trace.getActiveSpan());
        return next();
      },
    };
    const { agent, finished } = setUp([{ text: 'Bye', usage }], { capabilities: [other] });
    await agent.call('Hi', context);
    const root = named(finished(), 'invoke_agent guide')[0];
    expect(active[0]?.spanContext().spanId).toBe(root?.spanContext().spanId);
  });

  it('is a child of what the caller traces', async () => {
    const { agent, finished } = setUp([{ text: 'Bye', usage }]);
    const spans = new InMemorySpanExporter();
    const tracer = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] }).getTracer(
      'app',
    );
    const outer = tracer.startSpan('request');
    await otel.with(trace.setSpan(otel.active(), outer), () => agent.call('Hi', context));
    const root = named(finished(), 'invoke_agent guide')[0];
    expect(root?.parentSpanContext?.spanId).toBe(outer.spanContext().spanId);
  });

  it('ends an interrupted call without calling it an error', async () => {
    const { agent, finished } = setUp([
      () => {
        agent.interrupt(context);
        return { text: 'Bye' };
      },
    ]);
    await agent.call('Hi', context);
    const root = named(finished(), 'invoke_agent guide')[0];
    expect(root?.attributes['x.agent.stop_reason']).toBe('interrupted');
    expect(finished().map((span) => span.status.code)).toEqual([0, 0]);
  });

  it('does nothing without an SDK', async () => {
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'Bye' }]))
      .workspace(scratch())
      .use(telemetry())
      .build();
    expect((await agent.call('Hi', context)).text).toBe('Bye');
  });

  it('refuses unknown keys and what is no tracer', () => {
    expect(() => telemetry({ content: true } as never)).toThrow('content: unknown key');
    expect(() => telemetry({ tracer: {} as never })).toThrow(
      'tracer: must be a tracer of @opentelemetry/api',
    );
    expect(() => telemetry({ tracer: {} as never })).toThrow(expect.any(InvalidInputError));
  });
});

/** Two agents of one process: without a lease nothing keeps them from writing at once. */
function withoutLease(session: InMemorySession): InMemorySession {
  return new Proxy(session, {
    get(target, name) {
      if (name === 'leases') return undefined;
      const value: unknown = Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
