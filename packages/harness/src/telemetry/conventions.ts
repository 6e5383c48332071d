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

/** Bucket boundaries that the conventions ask for. */
const SECONDS = [0.01, 0.02, 0.04, 0.08, 0.16, 0.32, 0.64, 1.28, 2.56, 5.12, 10.24, 20.48, 40.96, 81.92];
const AGENT_SECONDS = SECONDS.map((seconds) => seconds * 10)
  .slice(0, 10)
  .concat([102.4, 204.8, 409.6]);
const CALLS = [1, 2, 4, 8, 16, 32, 64, 128];
const TOKENS = Array.from({ length: 14 }, (_, power) => 4 ** power);
const SHARES = [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95, 0.99];

/** Everything that is measured. */
export type Instruments = ReturnType<typeof createInstruments>;

export function createInstruments(meter: Meter) {
  const histogram = (name: string, description: string, unit: string, buckets: number[]): Histogram =>
    meter.createHistogram(name, { description, unit, advice: { explicitBucketBoundaries: buckets } });
  const seconds = (name: string, description: string): Histogram =>
    histogram(name, description, 's', SECONDS);
  const tokens = (name: string, description: string): Counter =>
    meter.createCounter(name, { description, unit: '{token}' });
  const times = (name: string, description: string, unit: string): Counter =>
    meter.createCounter(name, { description, unit });
  return {
    inferenceDuration: seconds(
      'gen_ai.client.inference.duration',
      'Duration of a model call, retries included.',
    ),
    timeToFirstChunk: seconds(
      'gen_ai.client.inference.time_to_first_chunk',
      'Time until a streamed answer begins.',
    ),
    timePerOutputChunk: seconds(
      'gen_ai.client.inference.time_per_output_chunk',
      'Time between two pieces of a streamed answer.',
    ),
    agentDuration: histogram(
      'gen_ai.invoke_agent.duration',
      'Duration of an agent call.',
      's',
      AGENT_SECONDS,
    ),
    inferenceCalls: histogram(
      'gen_ai.invoke_agent.inference_calls',
      'Model calls of an agent call.',
      '{inference_call}',
      CALLS,
    ),
    toolCalls: histogram(
      'gen_ai.invoke_agent.tool_calls',
      'Tool calls of an agent call.',
      '{tool_call}',
      CALLS,
    ),
    operationInputTokens: histogram(
      'gen_ai.client.inference.operation.input_tokens',
      'Input tokens of a model call.',
      '{token}',
      TOKENS,
    ),
    operationOutputTokens: histogram(
      'gen_ai.client.inference.operation.output_tokens',
      'Output tokens of a model call.',
      '{token}',
      TOKENS,
    ),
    toolDuration: seconds('gen_ai.execute_tool.duration', 'Duration of a tool call.'),
    compactionDuration: seconds('x.agent.compaction.duration', 'Duration of a compaction.'),
    inputTokens: tokens(
      'gen_ai.client.inference.usage.input_tokens',
      'Input tokens used, cached ones included.',
    ),
    outputTokens: tokens(
      'gen_ai.client.inference.usage.output_tokens',
      'Output tokens used, reasoning included.',
    ),
    cacheReadTokens: tokens(
      'gen_ai.client.inference.usage.cache_read.input_tokens',
      'Input tokens read from the provider’s cache.',
    ),
    cacheWriteTokens: tokens(
      'gen_ai.client.inference.usage.cache_write.input_tokens',
      'Input tokens written to the provider’s cache.',
    ),
    reasoningTokens: tokens(
      'gen_ai.client.inference.usage.reasoning.output_tokens',
      'Output tokens used for reasoning.',
    ),
    cacheShare: histogram(
      'x.agent.cache.share',
      'Share of a request’s input tokens that came from the provider’s cache.',
      '1',
      SHARES,
    ),
    compactions: times('x.agent.compactions', 'Compactions, by outcome.', '{compaction}'),
    conflicts: times('x.agent.session.conflicts', 'Commits that met another writer’s.', '{conflict}'),
    retries: times('x.agent.model.retries', 'Model calls that were made again.', '{retry}'),
    fallbacks: times('x.agent.model.fallbacks', 'Models that another one took over from.', '{fallback}'),
  };
}
