import type { Attributes, Counter, Histogram, Meter, MetricOptions, UpDownCounter } from '@opentelemetry/api';
import type { Usage } from '@x/core';
import { TOKENS, type TokenKind } from './conventions.js';

const INFERENCE = 'gen_ai.client.inference';

/** Bucket boundaries that the conventions recommend. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_SECONDS = [0.1, 0.2, 0.4, 0.8, 1.6, 3.2, 6.4, 12.8, 25.6, 51.2, 102.4, 204.8, 409.6];
const STORE_SECONDS = [0.001, 0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30];
const COSTS = [0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1, 3, 10, 30];
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128];
const TOKEN_COUNTS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/** Names, units, descriptions and buckets. An instrument with buckets is a histogram, any other one a counter. */
const INSTRUMENTS = {
  inferenceDuration: [`${INFERENCE}.duration`, 's', 'Duration of a model call with its retries.', SECONDS],
  timeToFirstChunk: [`${INFERENCE}.time_to_first_chunk`, 's', 'Time until a stream begins.', SECONDS],
  agentDuration: ['gen_ai.invoke_agent.duration', 's', 'Duration of an agent call.', AGENT_SECONDS],
  modelCalls: [
    'gen_ai.invoke_agent.inference_calls',
    '{inference_call}',
    'Model calls of an agent call.',
    CALLS,
  ],
  toolCalls: ['gen_ai.invoke_agent.tool_calls', '{tool_call}', 'Tool calls of an agent call.', CALLS],
  toolDuration: ['gen_ai.execute_tool.duration', 's', 'Duration of a tool call.', SECONDS],
  compactionDuration: ['x.agent.compaction.duration', 's', 'Duration of a compaction.', SECONDS],
  wait: ['x.agent.call.wait', 's', 'Time that a call waits for a slot or for its session.', AGENT_SECONDS],
  storeDuration: ['x.agent.store.duration', 's', 'Duration of a store or log request.', STORE_SECONDS],
  callTokens: ['x.agent.call.tokens', '{token}', 'Tokens of an agent call, by type.', TOKEN_COUNTS],
  callCost: [
    'x.agent.call.cost',
    '1',
    'Cost of an agent call, in the currency of the budget’s prices.',
    COSTS,
  ],
  cacheShare: ['x.agent.cache.share', '1', 'Share of input tokens from the provider’s cache.', SHARES],
  compactions: ['x.agent.compactions', '{compaction}', 'Compactions, by outcome.'],
  conflicts: ['x.agent.session.conflicts', '{conflict}', 'Commits that conflicted with another writer.'],
  retries: ['x.agent.model.retries', '{retry}', 'Retries of model calls.'],
  refused: ['x.agent.calls.refused', '{call}', 'Calls that were rejected before they began, by error.'],
  takeovers: ['x.agent.turns.taken_over', '{turn}', 'Sessions that were taken over from a dead process.'],
  lostTurns: ['x.agent.turns.lost', '{turn}', 'Sessions that another process took over from a running call.'],
  fallbacks: ['x.agent.model.fallbacks', '{fallback}', 'Switches to a fallback model.'],
} as const;

/** Up-down counters: names, units and descriptions. */
const GAUGES = {
  running: ['x.agent.calls.running', '{call}', 'Running calls.'],
  waiting: ['x.agent.calls.waiting', '{call}', 'Calls that wait for a slot or for their session.'],
} as const;

type Row = readonly [name: string, unit: string, description: string, buckets?: readonly number[]];
type Table = typeof INSTRUMENTS;

/** All instruments. */
export type Instruments = {
  readonly [Key in keyof Table]: Table[Key]['length'] extends 4 ? Histogram : Counter;
} & Readonly<Record<keyof typeof GAUGES, UpDownCounter>> & {
    readonly tokens: Readonly<Record<TokenKind, Counter>>;
  };

export function createInstruments(meter: Meter): Instruments {
  const each = <Made>(
    table: Readonly<Record<string, Row>>,
    make: (name: string, options: MetricOptions, isHistogram: boolean) => Made,
  ) =>
    Object.entries(table).map(([key, [name, unit, description, buckets]]) => {
      const advice = buckets && { advice: { explicitBucketBoundaries: [...buckets] } };
      return [key, make(name, { unit, description, ...advice }, buckets !== undefined)] as const;
    });
  const tokens = Object.entries(TOKENS).map(([kind, [name, description]]) => {
    return [kind, meter.createCounter(`${INFERENCE}.usage.${name}`, { description, unit: '{token}' })];
  });
  const made: unknown = Object.fromEntries([
    ...each(INSTRUMENTS, (name, options, isHistogram) =>
      isHistogram ? meter.createHistogram(name, options) : meter.createCounter(name, options),
    ),
    ...each(GAUGES, (name, options) => meter.createUpDownCounter(name, options)),
    ['tokens', Object.fromEntries(tokens)],
  ]);
  return made as Instruments;
}

/** Counts the tokens of one model call. */
export function recordUsage(instruments: Instruments, usage: Usage, attributes: Attributes): void {
  const { inputTokens, cachedInputTokens } = usage;
  for (const [kind, counter] of Object.entries(instruments.tokens)) {
    const count = usage[kind as TokenKind];
    // The modality is unknown, because providers rarely report it.
    if (count !== undefined) counter.add(count, { ...attributes, 'gen_ai.token.modality': 'unknown' });
  }
  if (cachedInputTokens !== undefined && inputTokens > 0) {
    instruments.cacheShare.record(cachedInputTokens / inputTokens, attributes);
  }
}
