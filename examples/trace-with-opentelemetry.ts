// Traces and metrics of an agent, with the official SDK and exporters that keep them in memory. In production, register
// your SDK's providers globally and write `telemetry()`.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import {
  AggregationTemporality,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from '@opentelemetry/sdk-metrics';
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from '@opentelemetry/sdk-trace-base';
import { defineTool } from '@x/core';
import { HarnessAgent } from '@x/harness';
import { telemetry } from '@x/harness/telemetry';
import { ScriptedModel } from '@x/testkit';
import { z } from 'zod';

const spans = new InMemorySpanExporter();
const traces = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
const exporter = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
const reader = new PeriodicExportingMetricReader({ exporter });
const meters = new MeterProvider({ readers: [reader] });

const weather = defineTool({
  name: 'get_weather',
  description: 'Current weather of a city',
  readOnly: true,
  input: z.object({ city: z.string() }),
  execute: ({ city }) => `Sunny in ${city}`,
});

const workspace = mkdtempSync(join(tmpdir(), 'x-example-'));
const agent = HarnessAgent.builder()
  .name('guide')
  .model(
    new ScriptedModel(
      [{ toolCalls: [{ name: 'get_weather', input: { city: 'Bern' } }] }, { text: 'Sunny.' }],
      {
        id: 'openai:gpt-5',
      },
    ),
  )
  .workspace(workspace)
  .tools(weather)
  .use(telemetry({ tracer: traces.getTracer('example'), meter: meters.getMeter('example') }))
  .build();
await agent.call('How is the weather in Bern?');
await agent.close();

const finished = spans.getFinishedSpans();
for (const { name, attributes } of finished) console.log(name, attributes);
await reader.forceFlush();
const metrics =
  exporter
    .getMetrics()
    .at(-1)
    ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
for (const { descriptor, dataPoints } of metrics) {
  console.log(descriptor.name, dataPoints.length, descriptor.unit);
}

await meters.shutdown();
await traces.shutdown();
rmSync(workspace, { recursive: true });
const names = finished.map((span) => span.name);
if (names.join() !== 'chat gpt-5,execute_tool get_weather,chat gpt-5,invoke_agent guide') {
  throw new Error(`These are other spans than expected: ${names.join()}.`);
}
