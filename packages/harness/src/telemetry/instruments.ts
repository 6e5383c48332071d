import type { Counter, Histogram, Meter } from '@opentelemetry/api';
import { METRIC, SECONDS, SHARES, TOKENS } from './conventions.js';

/** Everything that is measured. */
export type Instruments = ReturnType<typeof createInstruments>;

export function createInstruments(meter: Meter) {
  const seconds = (name: string, description: string): Histogram =>
    meter.createHistogram(name, { description, unit: 's', advice: { explicitBucketBoundaries: SECONDS } });
  const tokens = (name: string, description: string): Counter =>
    meter.createCounter(name, { description, unit: '{token}' });
  const times = (name: string, description: string, unit: string): Counter =>
    meter.createCounter(name, { description, unit });
  return {
    operationDuration: seconds(METRIC.operationDuration, 'Duration of a model call, retries included.'),
    timeToFirstChunk: seconds(METRIC.timeToFirstChunk, 'Time until a streamed answer begins.'),
    agentDuration: seconds(METRIC.agentDuration, 'Duration of an agent call.'),
    toolDuration: seconds(METRIC.toolDuration, 'Duration of a tool call.'),
    compactionDuration: seconds(METRIC.compactionDuration, 'Duration of a compaction.'),
    inputTokens: tokens(METRIC.inputTokens, 'Input tokens used, cached ones included.'),
    outputTokens: tokens(METRIC.outputTokens, 'Output tokens used, reasoning included.'),
    cacheReadTokens: tokens(METRIC.cacheReadTokens, 'Input tokens read from the provider’s cache.'),
    cacheWriteTokens: tokens(METRIC.cacheWriteTokens, 'Input tokens written to the provider’s cache.'),
    reasoningTokens: tokens(METRIC.reasoningTokens, 'Output tokens used for reasoning.'),
    tokenUsage: meter.createHistogram(METRIC.tokenUsage, {
      description: 'Tokens of a model call.',
      unit: '{token}',
      advice: { explicitBucketBoundaries: TOKENS },
    }),
    cacheShare: meter.createHistogram(METRIC.cacheShare, {
      description: 'Share of a request’s input tokens that came from the provider’s cache.',
      unit: '1',
      advice: { explicitBucketBoundaries: SHARES },
    }),
    compactions: times(METRIC.compactions, 'Compactions, by outcome.', '{compaction}'),
    conflicts: times(METRIC.conflicts, 'Commits that met another writer’s.', '{conflict}'),
    retries: times(METRIC.retries, 'Model calls that were made again.', '{retry}'),
    fallbacks: times(METRIC.fallbacks, 'Models that another one took over from.', '{fallback}'),
  };
}
