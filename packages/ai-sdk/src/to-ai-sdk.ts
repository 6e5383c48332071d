import {
  type ContentBlock,
  contentBlockSchema,
  type JsonObject,
  type Message,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  originOf,
  type Part,
  plainJson,
  type ToolDefinition,
} from '@x/core';
import * as z from 'zod';
import { type SdkMessage, toMessage } from './agent/sdk-message.js';
import { cutOff } from './errors/to-model-error.js';
import { type CallOptions, mergedOptions, type ProviderData } from './language-model.js';
import { readableOf } from './readable-of.js';
import type { Metadata } from './ui/ui-chunk.js';

/** The provider under which a part carries the blocks that it stands for, where the SDK has no words for them. */
const CARRIER = 'x';
const carriedSchema = z.object({ text: z.string(), blocks: z.array(contentBlockSchema) });
/** Settings of a call, and of its tools, that a `Model` has no place for. */
const UNSUPPORTED = ['topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'seed'] as const;
const UNSUPPORTED_OF_TOOLS = ['strict', 'inputExamples', 'providerOptions'] as const;

type WithMetadata = { providerMetadata?: Metadata };
type Warning = { type: 'unsupported'; feature: string; details?: string };
type Content =
  | ({ type: 'text' | 'reasoning'; text: string } & WithMetadata)
  | { type: 'file'; mediaType: string; data: string }
  | ({ type: 'tool-call'; toolCallId: string; toolName: string; input: string } & WithMetadata);
type Finish = {
  finishReason: {
    unified: 'stop' | 'tool-calls' | 'length' | 'content-filter' | 'error' | 'other';
    raw: string;
  };
  usage: {
    inputTokens: Counts<'total' | 'noCache' | 'cacheRead' | 'cacheWrite'>;
    outputTokens: Counts<'total' | 'text' | 'reasoning'>;
  };
} & WithMetadata;
type Counts<Kind extends string> = Record<Kind, number | undefined>;
type StreamedPart =
  | { type: 'stream-start'; warnings: Warning[] }
  | { type: 'response-metadata'; id?: string; modelId?: string }
  | { type: 'text-start' | 'reasoning-start'; id: string }
  | { type: 'text-delta' | 'reasoning-delta'; id: string; delta: string }
  | ({ type: 'text-end' | 'reasoning-end'; id: string } & WithMetadata)
  | { type: 'tool-input-start'; id: string; toolName: string }
  | { type: 'tool-input-delta'; id: string; delta: string }
  | { type: 'tool-input-end'; id: string }
  | Exclude<Content, { type: 'text' | 'reasoning' }>
  | { type: 'error'; error: unknown }
  | ({ type: 'finish' } & Finish);

/** A language model of the AI SDK, specification 3, as its package declares it. */
export interface SdkLanguageModel {
  readonly specificationVersion: 'v3';
  readonly provider: string;
  readonly modelId: string;
  readonly supportedUrls: Record<string, RegExp[]>;
  doGenerate(
    options: CallOptions,
  ): Promise<
    Finish & { content: Content[]; warnings: Warning[]; response: { id?: string; modelId?: string } }
  >;
  doStream(options: CallOptions): Promise<{ stream: ReadableStream<StreamedPart> }>;
}

/**
 * A `Model` as a language model of the AI SDK, versions 6 and 7: for `generateText`, `streamText` and its agents. Blocks that
 * the SDK has no words for travel as empty reasoning, and come back to the model as they were. Errors are the model's: a
 * stream that fails ends with an `error` and a `finish` part, as those of the SDK's providers do. What a `Model` has no
 * place for is a warning of the call.
 *
 * @example
 * ```ts
 * import { toAiSdk } from '@x/ai-sdk';
 * import type { Model } from '@x/core';
 * import { generateText } from 'ai';
 *
 * export const ask = (model: Model, prompt: string) => generateText({ model: toAiSdk(model), prompt });
 * ```
 */
export function toAiSdk(model: Model): SdkLanguageModel {
  return {
    specificationVersion: 'v3',
    provider: CARRIER,
    modelId: model.id,
    supportedUrls: { '*/*': [/^https?:/] },
    async doGenerate(call) {
      const response = await model.generate(requestOf(call));
      const content = response.content.flatMap((block) => partIn(block) ?? []);
      return { content, ...finishOf(response), warnings: warningsOf(call), response: namesOf(response) };
    },
    async doStream(call) {
      const request = requestOf(call);
      const parts = model.stream?.(request) ?? whole(model, request);
      return { stream: readableOf(streamedParts(parts, call, model.id)) };
    },
  };
}

async function* whole(model: Model, request: ModelRequest): AsyncGenerator<ModelStreamPart> {
  yield { type: 'response', response: await model.generate(request) };
}

async function* streamedParts(
  parts: AsyncIterable<ModelStreamPart>,
  call: CallOptions,
  modelId: string,
): AsyncGenerator<StreamedPart, void> {
  const answer = new StreamedAnswer();
  yield { type: 'stream-start', warnings: warningsOf(call) };
  try {
    for await (const part of parts) {
      if (part.type !== 'response') yield* answer.add(part);
      else return yield* answer.end(part.response);
    }
    throw cutOff(modelId);
  } catch (error) {
    // The SDK tells an abort by what its own signal throws.
    if (call.abortSignal?.aborted) throw error;
    yield { type: 'error', error };
    yield* answer.end({ content: [], finishReason: 'error' });
  }
}

/** An answer as far as it was streamed. */
class StreamedAnswer {
  /** Texts that are open still, since their metadata come with the whole answer. */
  readonly #texts: { type: 'text' | 'reasoning'; id: string; text: string }[] = [];
  readonly #inputs = new Set<string>();
  #last: { type: 'text' | 'reasoning'; id: string; text: string } | undefined;

  *add(part: Exclude<ModelStreamPart, { type: 'response' }>): Generator<StreamedPart> {
    if (part.type === 'tool-call-delta') {
      const { id, name: toolName, inputDelta: delta } = part;
      if (!this.#inputs.has(id)) yield { type: 'tool-input-start', id, toolName };
      this.#inputs.add(id);
      this.#last = undefined;
      yield { type: 'tool-input-delta', id, delta };
      return;
    }
    const type = part.type === 'text-delta' ? 'text' : 'reasoning';
    if (this.#last?.type !== type) {
      this.#last = { type, id: String(this.#texts.length + 1), text: '' };
      this.#texts.push(this.#last);
      yield { type: `${type}-start`, id: this.#last.id };
    }
    this.#last.text += part.text;
    yield { type: `${type}-delta`, id: this.#last.id, delta: part.text };
  }

  *end(response: ModelResponse): Generator<StreamedPart> {
    const parts = response.content.flatMap((block) => partIn(block) ?? []);
    const told = parts.flatMap((each) => (each.type === 'text' || each.type === 'reasoning' ? [each] : []));
    if (this.#texts.length === 0) {
      for (const [at, { type, text, ...metadata }] of told.entries()) {
        const id = String(at + 1);
        yield { type: `${type}-start`, id };
        if (text !== '') yield { type: `${type}-delta`, id, delta: text };
        yield { type: `${type}-end`, id, ...metadata };
      }
    }
    // Blocks that were streamed as one text, and those that no text was streamed of, come back with the first.
    const unsaid = response.content.filter(({ type }) => type !== 'tool_use' && type !== 'file');
    const isSplit =
      told.length !== this.#texts.length ||
      told.some(({ type, text }, at) => type !== this.#texts[at]?.type || text !== this.#texts[at].text);
    for (const [at, { type, id, text }] of this.#texts.entries()) {
      const carried = unsaid.length === 0 ? {} : carrying(text, at === 0 ? unsaid : []);
      const { providerMetadata }: WithMetadata = isSplit ? carried : (told[at] as WithMetadata);
      yield { type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) };
    }
    for (const id of this.#inputs) yield { type: 'tool-input-end', id };
    for (const each of parts) if (each.type === 'file' || each.type === 'tool-call') yield each;
    yield { type: 'response-metadata', ...namesOf(response) };
    yield { type: 'finish', ...finishOf(response) };
  }
}

function requestOf(call: CallOptions): ModelRequest {
  const { maxOutputTokens, temperature, stopSequences, toolChoice, abortSignal, reasoning } = call;
  const prompt = call.prompt as readonly SdkMessage[];
  const system = prompt.filter(
    ({ role, providerOptions }) => role === 'system' && providerOptions === undefined,
  );
  const choice = toolChoice?.type === 'tool' ? { tool: String(toolChoice.toolName) } : toolChoice?.type;
  return {
    ...(system.length === 0 ? {} : { system: system.map(({ content }) => content).join('\n\n') }),
    messages: prompt.filter((message) => !system.includes(message)).map(messageOf),
    tools: (call.tools ?? []).flatMap(toolOf),
    maxOutputTokens,
    temperature,
    stopSequences,
    toolChoice: choice as ModelRequest['toolChoice'],
    reasoningEffort: reasoning === 'provider-default' ? undefined : reasoning,
    providerOptions: call.providerOptions && (plainJson(call.providerOptions) as Record<string, JsonObject>),
    responseFormat: formatOf(call),
    signal: abortSignal,
  };
}

/** Without a schema JSON is but a wish, of which a `Model` knows nothing. */
function formatOf({ responseFormat }: CallOptions): ModelRequest['responseFormat'] {
  return responseFormat !== undefined && 'schema' in responseFormat && responseFormat.schema !== undefined
    ? (responseFormat as ModelRequest['responseFormat'])
    : undefined;
}

function messageOf(source: SdkMessage, at: number): Message {
  const message = toMessage(source, String(at));
  const own = plainJson(source.providerOptions ?? {}) as ProviderData;
  const content = message.content.flatMap((block, position) => {
    // The options of a message are its last part's, as for the SDK's providers.
    const isLast = position === message.content.length - 1;
    const { [CARRIER]: _, ...rest } = mergedOptions(
      isLast ? own : {},
      (block.providerMetadata ?? {}) as ProviderData,
    );
    const isBare = Object.keys(rest).length === 0;
    return carriedIn(block) ?? [{ ...block, providerMetadata: isBare ? undefined : (rest as JsonObject) }];
  });
  return { ...message, content };
}

/** The blocks that a part of an earlier answer carries, unless the application changed its text since. */
function carriedIn(block: ContentBlock): readonly ContentBlock[] | undefined {
  const { text, providerOptions } = (originOf(block) ?? {}) as {
    readonly text?: string;
    readonly providerOptions?: { readonly [provider: string]: unknown };
  };
  const carried = carriedSchema.safeParse(providerOptions?.[CARRIER]).data;
  return carried?.text === text ? (carried?.blocks as readonly ContentBlock[] | undefined) : undefined;
}

function carrying(text: string, blocks: readonly ContentBlock[]): Required<WithMetadata> {
  return { providerMetadata: { [CARRIER]: { text: text as never, blocks: plainJson(blocks) as never } } };
}

function toolOf(tool: unknown): readonly ToolDefinition[] {
  const { type, name, description = '', inputSchema } = tool as Part;
  if (type !== 'function') return [];
  return [{ name: String(name), description: String(description), inputSchema: inputSchema as JsonObject }];
}

function warningsOf(call: CallOptions): Warning[] {
  const features: string[] = UNSUPPORTED.filter((name) => call[name] !== undefined);
  // The SDK's own name of itself is in every call.
  if (Object.keys(call.headers ?? {}).some((name) => name.toLowerCase() !== 'user-agent'))
    features.push('headers');
  if (call.includeRawChunks) features.push('includeRawChunks');
  for (const tool of (call.tools ?? []) as readonly Part[])
    if (tool.type !== 'function') features.push(`tool ${String(tool.name)}`);
    else
      for (const name of UNSUPPORTED_OF_TOOLS)
        if (tool[name] !== undefined) features.push(`${name} of tool ${String(tool.name)}`);
  const warnings = features.map((feature): Warning => ({ type: 'unsupported', feature }));
  if (call.responseFormat?.type !== 'json' || formatOf(call) !== undefined) return warnings;
  return [...warnings, { type: 'unsupported', feature: 'responseFormat', details: 'JSON needs a schema.' }];
}

function partIn(block: ContentBlock): Content | undefined {
  const { providerMetadata } = block;
  const metadata = providerMetadata && { providerMetadata: providerMetadata as Metadata };
  switch (block.type) {
    case 'text':
      return { type: 'text', text: block.text, ...metadata };
    case 'thinking': {
      const isSigned = block.signature !== undefined && metadata === undefined;
      return {
        type: 'reasoning',
        text: block.thinking,
        ...(isSigned ? carrying(block.thinking, [block]) : metadata),
      };
    }
    case 'tool_use': {
      const input = typeof block.input === 'string' ? block.input : JSON.stringify(block.input);
      return { type: 'tool-call', toolCallId: block.id, toolName: block.name, input, ...metadata };
    }
    case 'tool_result':
      return undefined;
    case 'file':
      if (block.source.type === 'base64')
        return { type: 'file', mediaType: block.mediaType, data: block.source.data };
      return { type: 'reasoning', text: '', ...carrying('', [block]) };
    case 'opaque':
      return { type: 'reasoning', text: '', ...carrying('', [block]) };
  }
}

function finishOf({ finishReason, usage, providerMetadata }: ModelResponse): Finish {
  const { inputTokens: total, cachedInputTokens: cacheRead, cacheWriteTokens: cacheWrite } = usage ?? {};
  const { outputTokens, reasoningTokens: reasoning } = usage ?? {};
  const noCache = total === undefined ? undefined : total - (cacheRead ?? 0) - (cacheWrite ?? 0);
  const text = outputTokens === undefined ? undefined : outputTokens - (reasoning ?? 0);
  return {
    finishReason: {
      unified: finishReason === 'refusal' ? 'content-filter' : finishReason,
      raw: finishReason,
    },
    usage: {
      inputTokens: { total, noCache, cacheRead, cacheWrite },
      outputTokens: { total: outputTokens, text, reasoning },
    },
    ...(providerMetadata && { providerMetadata: providerMetadata as Metadata }),
  };
}

function namesOf({ id, model }: ModelResponse): { id?: string; modelId?: string } {
  return { ...(id === undefined ? {} : { id }), ...(model === undefined ? {} : { modelId: model }) };
}
