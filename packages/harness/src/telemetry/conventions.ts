import type { Counter, Histogram, Meter } from '@opentelemetry/api';

/**
 * The names of the OpenTelemetry semantic conventions for generative AI, in one table, as they stood in
 * open-telemetry/semantic-conventions-genai in autumn 2026 (status "Development", on top of core conventions 1.44).
 * Names that they lack begin with `x.`.
 */
export const CONVENTIONS_VERSION = 'gen-ai/2026-09+1.44.0';

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
  outputType: 'gen_ai.output.type',
  finishReasons: 'gen_ai.response.finish_reasons',
  inputTokens: 'gen_ai.usage.input_tokens',
  outputTokens: 'gen_ai.usage.output_tokens',
  cacheReadTokens: 'gen_ai.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.usage.cache_write.input_tokens',
  /** The earlier name of `cacheWriteTokens`, which many backends still read. */
  cacheCreationTokens: 'gen_ai.usage.cache_creation.input_tokens',
  reasoningTokens: 'gen_ai.usage.reasoning.output_tokens',
  tokenType: 'gen_ai.token.type',
  tokenModality: 'gen_ai.token.modality',
  toolName: 'gen_ai.tool.name',
  toolType: 'gen_ai.tool.type',
  toolCallId: 'gen_ai.tool.call.id',
  memoryRecords: 'gen_ai.memory.record.count',
  errorType: 'error.type',
  // Only with `captureContent`.
  systemInstructions: 'gen_ai.system_instructions',
  inputMessages: 'gen_ai.input.messages',
  outputMessages: 'gen_ai.output.messages',
  toolArguments: 'gen_ai.tool.call.arguments',
  toolResult: 'gen_ai.tool.call.result',
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

const METRIC = {
  operationDuration: 'gen_ai.client.operation.duration',
  timeToFirstChunk: 'gen_ai.client.operation.time_to_first_chunk',
  agentDuration: 'gen_ai.invoke_agent.duration',
  toolDuration: 'gen_ai.execute_tool.duration',
  inputTokens: 'gen_ai.client.inference.usage.input_tokens',
  outputTokens: 'gen_ai.client.inference.usage.output_tokens',
  cacheReadTokens: 'gen_ai.client.inference.usage.cache_read.input_tokens',
  cacheWriteTokens: 'gen_ai.client.inference.usage.cache_write.input_tokens',
  reasoningTokens: 'gen_ai.client.inference.usage.reasoning.output_tokens',
  /** The earlier histogram of tokens, which most dashboards still read. */
  tokenUsage: 'gen_ai.client.token.usage',
  cacheShare: 'x.agent.cache.share',
  compactions: 'x.agent.compactions',
  compactionDuration: 'x.agent.compaction.duration',
  conflicts: 'x.agent.session.conflicts',
  retries: 'x.agent.model.retries',
  fallbacks: 'x.agent.model.fallbacks',
} as const;

/** Bucket boundaries that the conventions ask for. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

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
