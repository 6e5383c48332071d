import { type Attributes, type Span, SpanStatusCode, type Tracer } from '@opentelemetry/api';
import { type CallScope, type Model, type Usage, XError } from '@x/core';
import type { CallTraces } from './call-trace.js';
import { ATTRIBUTE, type Instruments, OPERATION } from './conventions.js';

/** Dependencies and settings that the parts of this capability share. */
export interface Recorder {
  readonly tracer: Tracer;
  readonly instruments: Instruments;
  readonly traces: CallTraces;
  readonly captureContent: boolean;
  readonly provider: string | undefined;
}

/** Makes the attributes that every measurement of a model has. */
export function modelAttributes(recorder: Recorder, model: Pick<Model, 'id'>, operation: string): Attributes {
  const names = modelNames(model.id);
  return {
    [ATTRIBUTE.operation]: operation,
    [ATTRIBUTE.provider]: recorder.provider ?? names.provider,
    [ATTRIBUTE.requestModel]: names.model,
  };
}

/** Makes the attributes that name agent and session on every span of a call. */
export function callAttributes(scope: CallScope): Attributes {
  return {
    [ATTRIBUTE.agentName]: scope.agentId,
    [ATTRIBUTE.conversationId]: scope.state.sessionId,
  };
}

/** Makes the attributes that every measurement of an agent call has. */
export function agentAttributes(recorder: Recorder, scope: CallScope): Attributes {
  return {
    ...modelAttributes(recorder, scope.model, OPERATION.invokeAgent),
    [ATTRIBUTE.agentName]: scope.agentId,
  };
}

export function secondsSince(startedAt: number): number {
  return (performance.now() - startedAt) / 1_000;
}

/** Makes attributes of a span from usage. What is undefined is no attribute. */
export function usageAttributes(usage: Usage | undefined): Attributes {
  return {
    [ATTRIBUTE.inputTokens]: usage?.inputTokens,
    [ATTRIBUTE.outputTokens]: usage?.outputTokens,
    [ATTRIBUTE.cacheReadTokens]: usage?.cachedInputTokens,
    [ATTRIBUTE.cacheWriteTokens]: usage?.cacheWriteTokens,
    [ATTRIBUTE.reasoningTokens]: usage?.reasoningTokens,
  };
}

/** Counts the tokens of one model call. */
export function recordUsage(instruments: Instruments, usage: Usage, attributes: Attributes): void {
  const { inputTokens, outputTokens, cachedInputTokens, cacheWriteTokens, reasoningTokens } = usage;
  // Providers hardly ever say how many of these were text or images.
  const counted = { ...attributes, [ATTRIBUTE.tokenModality]: 'unknown' };
  const counts = {
    inputTokens,
    outputTokens,
    cacheReadTokens: cachedInputTokens,
    cacheWriteTokens,
    reasoningTokens,
  };
  for (const [name, count] of Object.entries(counts)) {
    if (count !== undefined) instruments[name as keyof typeof counts].add(count, counted);
  }
  if (cachedInputTokens !== undefined && inputTokens > 0) {
    instruments.cacheShare.record(cachedInputTokens / inputTokens, attributes);
  }
  instruments.operationInputTokens.record(inputTokens, attributes);
  instruments.operationOutputTokens.record(outputTokens, attributes);
}

/** The conventions' names of providers that adapters know by another one. */
const PROVIDERS: Readonly<Record<string, string>> = {
  azure: 'azure.ai.openai',
  'azure-openai': 'azure.ai.openai',
  'amazon-bedrock': 'aws.bedrock',
  bedrock: 'aws.bedrock',
  google: 'gcp.gemini',
  'google-vertex': 'gcp.vertex_ai',
  vertex: 'gcp.vertex_ai',
  mistral: 'mistral_ai',
  moonshot: 'moonshot_ai',
  moonshotai: 'moonshot_ai',
  xai: 'x_ai',
};

/** `openai.responses:gpt-5` → `{ provider: 'openai', model: 'gpt-5' }`. Without a prefix the provider is `_OTHER`. */
function modelNames(id: string): { readonly provider: string; readonly model: string } {
  const colon = id.indexOf(':');
  if (colon <= 0) return { provider: '_OTHER', model: id };
  const family = id.slice(0, colon).split('.', 1)[0] ?? '';
  return { provider: PROVIDERS[family] ?? family, model: id.slice(colon + 1) };
}

/** Returns the class of an error: its stable code, or its name. Never its message, which may quote content. */
function errorType(error: unknown): string {
  if (XError.isInstance(error)) return error.code;
  return error instanceof Error ? error.name : '_OTHER';
}

export function errorAttributes(error: unknown): Attributes {
  return { [ATTRIBUTE.errorType]: errorType(error) };
}

/** Marks a span as failed. An interruption is an end like others. */
export function markFailed(span: Span, error: unknown, showsContent: boolean): void {
  span.setAttributes(errorAttributes(error));
  if (error instanceof Error && error.name === 'AbortError') return;
  const message = showsContent && error instanceof Error ? error.message : undefined;
  span.setStatus({ code: SpanStatusCode.ERROR, ...(message === undefined ? {} : { message }) });
}
