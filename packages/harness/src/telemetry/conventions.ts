import type { Attributes } from '@opentelemetry/api';
import {
  type CallScope,
  type ContentBlock,
  type FileBlock,
  type Message,
  type Model,
  type ModelRequest,
  type ModelResponse,
  textOf,
  type Usage,
  XError,
} from '@x/core';

/**
 * The OpenTelemetry semantic conventions for generative AI that this folder follows: open-telemetry/semantic-conventions-genai
 * 0.1.0 (status "Development", on top of core conventions 1.45). Names that the conventions lack begin with `x.`.
 */
export const CONVENTIONS_VERSION = 'gen-ai/0.1.0+1.45.0';

/** Kinds of tokens in usage: the suffix of their name in the conventions, and the description of their counter. */
export const TOKENS = {
  inputTokens: ['input_tokens', 'Input tokens used, cached ones included.'],
  outputTokens: ['output_tokens', 'Output tokens used, reasoning included.'],
  cachedInputTokens: ['cache_read.input_tokens', 'Input tokens read from a cache.'],
  cacheWriteTokens: ['cache_write.input_tokens', 'Input tokens written to a cache.'],
  reasoningTokens: ['reasoning.output_tokens', 'Output tokens used for reasoning.'],
} as const satisfies { readonly [Kind in keyof Usage]?: readonly [name: string, description: string] };

export type TokenKind = keyof typeof TOKENS;

/** Returns the attributes of usage. Kinds that the provider did not report get no attribute. */
export function usageAttributes(usage: Usage | undefined): Attributes {
  return Object.fromEntries(
    Object.entries(TOKENS).map(([kind, [name]]) => [`gen_ai.usage.${name}`, usage?.[kind as TokenKind]]),
  );
}

/** Maps provider names of adapters to those of the conventions. */
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

/**
 * Returns the attributes of every span and measurement of a model. An id such as `openai.responses:gpt-5` contains provider and model;
 * without a prefix the provider is `_OTHER`.
 *
 * @param provider The provider's name, which overrides the one in the id.
 */
export function modelAttributes(
  operation: string,
  { id }: Pick<Model, 'id'>,
  provider: string | undefined,
): Attributes {
  const colon = id.indexOf(':');
  const family = id.slice(0, Math.max(0, colon)).split('.', 1)[0] || '_OTHER';
  return {
    'gen_ai.operation.name': operation,
    'gen_ai.provider.name': provider ?? PROVIDERS[family] ?? family,
    'gen_ai.request.model': colon <= 0 ? id : id.slice(colon + 1),
  };
}

/** Returns the attributes that name agent and session on every span of a call. */
export function callAttributes(scope: CallScope): Attributes {
  return { 'gen_ai.agent.name': scope.agentId, 'gen_ai.conversation.id': scope.state.sessionId };
}

/** @param compacted Whether the conversation contains a summary. */
export function requestAttributes(request: ModelRequest, compacted: boolean): Attributes {
  const { maxOutputTokens, temperature, responseFormat, reasoningEffort, stopSequences } = request;
  return {
    'gen_ai.request.max_tokens': maxOutputTokens,
    'gen_ai.request.temperature': temperature,
    'gen_ai.request.reasoning.level': reasoningEffort,
    'gen_ai.request.stop_sequences': stopSequences && [...stopSequences],
    'gen_ai.output.type': responseFormat && 'json',
    // The conventions do not define `false` for this attribute.
    'gen_ai.conversation.compacted': compacted || undefined,
  };
}

/** Maps our finish reasons to those of the conventions that differ. */
const FINISH: Readonly<Record<string, string>> = {
  'tool-calls': 'tool_call',
  'content-filter': 'content_filter',
};

export function responseAttributes({ id, model, finishReason, usage }: ModelResponse): Attributes {
  return {
    'gen_ai.response.finish_reasons': [FINISH[finishReason] ?? finishReason],
    'gen_ai.response.id': id,
    'gen_ai.response.model': model,
    ...usageAttributes(usage),
  };
}

/** Returns the class of an error: its stable code, or its name. Never its message, which may quote content. */
export function errorAttributes(error: unknown): Attributes {
  const name = error instanceof Error ? error.name : '_OTHER';
  return { 'error.type': XError.isInstance(error) ? error.code : name };
}

/** Returns the content of a request, for traces that may contain content. */
export function requestContent({ system, messages, tools }: ModelRequest): Attributes {
  const definitions = tools.map(({ inputSchema: parameters, name, description }) => {
    return { type: 'function', name, description, parameters };
  });
  return {
    'gen_ai.input.messages': messagesJson(messages),
    'gen_ai.tool.definitions': tools.length > 0 ? JSON.stringify(definitions) : undefined,
    'gen_ai.system_instructions':
      system === undefined ? undefined : JSON.stringify([{ type: 'text', content: system }]),
  };
}

/** Returns the content of an answer, for traces that may contain content. */
export function responseContent({ content }: ModelResponse): Attributes {
  return { 'gen_ai.output.messages': messagesJson([{ role: 'assistant', content }]) };
}

/** Serializes messages in the form of the conventions' JSON schemas. */
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

/** Converts a file to a part with its address. The bytes are omitted. */
function filePart({ mediaType, source }: FileBlock): object {
  const kind = mediaType.split('/', 1)[0] ?? '';
  const common = { mime_type: mediaType, modality: MODALITIES.includes(kind) ? kind : 'document' };
  if (source.type === 'url') return { type: 'uri', ...common, uri: source.url };
  if (source.type === 'base64') return { type: 'blob', ...common, content: '' };
  return { type: 'file', ...common, file_id: source.type === 'workspace' ? source.path : source.id };
}
