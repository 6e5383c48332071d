import type { Counter, Histogram, Meter } from '@opentelemetry/api';

/**
 * The names of the OpenTelemetry semantic conventions for generative AI, in one table: open-telemetry/semantic-conventions-genai
 * 0.1.0 (status "Development", on top of core conventions 1.45).
 * Names that they lack begin with `x.`.
 */
export const CONVENTIONS_VERSION = 'gen-ai/0.1.0+1.45.0';

export const OPERATION = {
  invokeAgent: 'invoke_agent',
  chat: 'chat',
  executeTool: 'execute_tool',
  createMemory: 'create_memory',
  updateMemory: 'update_memory',
  /** Our own name: the conventions leave compaction by frameworks open. */
  compact: 'compact',
} as const;

export const ATTRIBUTE = {
  operation: 'gen_ai.operation.name',
  provider: 'gen_ai.provider.name',
  agentName: 'gen_ai.agent.name',
  conversationId: 'gen_ai.conversation.id',
  /** Only ever true. */
  conversationCompacted: 'gen_ai.conversation.compacted',
  requestModel: 'gen_ai.request.model',
  requestMaxTokens: 'gen_ai.request.max_tokens',
  requestTemperature: 'gen_ai.request.temperature',
  requestStream: 'gen_ai.request.stream',
  requestReasoning: 'gen_ai.request.reasoning.level',
  requestStopSequences: 'gen_ai.request.stop_sequences',
  outputType: 'gen_ai.output.type',
  finishReasons: 'gen_ai.response.finish_reasons',
  responseId: 'gen_ai.response.id',
  responseModel: 'gen_ai.response.model',
  timeToFirstChunk: 'gen_ai.response.time_to_first_chunk',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenModality: 'gen_ai.token.modality',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  mcpMethod: 'mcp.method.name',
  memoryRecords: 'gen_ai.memory.record.count',
  errorType: 'error.type',
  // Only with `captureContent`.
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
  toolDefinitions: 'gen_ai.tool.definitions',
  // Our own.
  stopReason: 'x.agent.stop_reason',
  steps: 'x.agent.steps',
  usageSource: 'x.agent.usage.source',
  compactionReason: 'x.compaction.reason',
  compactionStrategy: 'x.compaction.strategy',
  compactionStatus: 'x.compaction.status',
  messagesBefore: 'x.compaction.messages_before',
  messagesAfter: 'x.compaction.messages_after',
  tokensBefore: 'x.compaction.tokens_before',
  tokensAfter: 'x.compaction.tokens_after',
  conflictOutcome: 'x.session.conflict.outcome',
  fallbackModel: 'x.agent.fallback.model',
  retryAttempt: 'x.agent.retry.attempt',
} as const;

const INFERENCE = 'gen_ai.client.inference';

/** Bucket boundaries that the conventions ask for. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_SECONDS = SECONDS.map((seconds) => seconds * 10)
  .slice(0, 10)
  .concat([102.4, 204.8, 409.6]);
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/** Names, units, buckets and descriptions. */
const HISTOGRAMS = {
  inferenceDuration: [`${INFERENCE}.duration`, 's', SECONDS, 'Duration of a model call with its retries.'],
  timeToFirstChunk: [`${INFERENCE}.time_to_first_chunk`, 's', SECONDS, 'Time until a stream begins.'],
  timePerOutputChunk: [`${INFERENCE}.time_per_output_chunk`, 's', SECONDS, 'Time between chunks.'],
  agentDuration: ['gen_ai.invoke_agent.duration', 's', AGENT_SECONDS, 'Duration of an agent call.'],
  inferenceCalls: [
    'gen_ai.invoke_agent.inference_calls',
    '{inference_call}',
    CALLS,
    'Model calls of an agent call.',
  ],
  toolCalls: ['gen_ai.invoke_agent.tool_calls', '{tool_call}', CALLS, 'Tool calls of an agent call.'],
  operationInputTokens: [
    `${INFERENCE}.operation.input_tokens`,
    '{token}',
    TOKENS,
    'Input tokens of a model call.',
  ],
  operationOutputTokens: [
    `${INFERENCE}.operation.output_tokens`,
    '{token}',
    TOKENS,
    'Output tokens of a model call.',
  ],
  toolDuration: ['gen_ai.execute_tool.duration', 's', SECONDS, 'Duration of a tool call.'],
  compactionDuration: ['x.agent.compaction.duration', 's', SECONDS, 'Duration of a compaction.'],
  cacheShare: ['x.agent.cache.share', '1', SHARES, 'Share of input tokens from the provider’s cache.'],
} as const;

/** Names, units and descriptions. */
const COUNTERS = {
  inputTokens: [`${INFERENCE}.usage.input_tokens`, '{token}', 'Input tokens used, cached ones included.'],
  outputTokens: [`${INFERENCE}.usage.output_tokens`, '{token}', 'Output tokens used, reasoning included.'],
  cacheReadTokens: [
    `${INFERENCE}.usage.cache_read.input_tokens`,
    '{token}',
    'Input tokens read from a cache.',
  ],
  cacheWriteTokens: [
    `${INFERENCE}.usage.cache_write.input_tokens`,
    '{token}',
    'Input tokens written to a cache.',
  ],
  reasoningTokens: [
    `${INFERENCE}.usage.reasoning.output_tokens`,
    '{token}',
    'Output tokens used for reasoning.',
  ],
  compactions: ['x.agent.compactions', '{compaction}', 'Compactions, by outcome.'],
  conflicts: ['x.agent.session.conflicts', '{conflict}', 'Commits that met another writer’s.'],
  retries: ['x.agent.model.retries', '{retry}', 'Model calls that were made again.'],
  fallbacks: ['x.agent.model.fallbacks', '{fallback}', 'Models that another one took over from.'],
} as const;

/** Everything that is measured. */
export type Instruments = Readonly<
  Record<keyof typeof HISTOGRAMS, Histogram> & Record<keyof typeof COUNTERS, Counter>
>;

export function createInstruments(meter: Meter): Instruments {
  const histograms = Object.entries(HISTOGRAMS).map(([key, [name, unit, buckets, description]]) => {
    const advice = { explicitBucketBoundaries: [...buckets] };
    return [key, meter.createHistogram(name, { description, unit, advice })];
  });
  const counters = Object.entries(COUNTERS).map(([key, [name, unit, description]]) => {
    return [key, meter.createCounter(name, { description, unit })];
  });
  return Object.fromEntries([...histograms, ...counters]) as Instruments;
}
