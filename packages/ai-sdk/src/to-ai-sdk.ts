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
import type { SdkMessage } from './agent/sdk-message.js';
import { toMessage } from './agent/to-message.js';
import type { CallOptions } from './language-model.js';
import { readableOf } from './readable-of.js';

/** The provider under which a part carries the blocks that it stands for, where the SDK has no words for them. */
const CARRIER = 'x';
const carriedSchema = z.object({ text: z.string(), blocks: z.array(contentBlockSchema) });
/** Settings of the SDK that a `Model` has no place for. */
const UNSUPPORTED = ['topP', 'topK', 'presencePenalty', 'frequencyPenalty', 'seed'] as const;

/** Metadata as every type of the SDK takes it: what is in it is JSON. */
type Metadata = { [provider: string]: { [key: string]: never } };
type WithMetadata = { providerMetadata?: Metadata };
type Warning = { type: 'unsupported'; feature: string };
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
 * the SDK has no words for travel as empty reasoning, and come back to the model as they were. Errors are the model's.
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
      return { stream: readableOf(streamedParts(parts, warningsOf(call))) };
    },
  };
}

async function* whole(model: Model, request: ModelRequest): AsyncGenerator<ModelStreamPart> {
  yield { type: 'response', response: await model.generate(request) };
}

async function* streamedParts(
  parts: AsyncIterable<ModelStreamPart>,
  warnings: Warning[],
): AsyncGenerator<StreamedPart, void> {
  yield { type: 'stream-start', warnings };
  /** What was streamed and is open still, since its metadata come with the whole answer. */
  const open: { type: 'text' | 'reasoning'; id: string; text: string }[] = [];
  const inputs = new Set<string>();
  let last: (typeof open)[number] | undefined;
  let count = 0;
  for await (const part of parts) {
    if (part.type === 'tool-call-delta') {
      const { id, name: toolName, inputDelta: delta } = part;
      if (!inputs.has(id)) yield { type: 'tool-input-start', id, toolName };
      inputs.add(id);
      last = undefined;
      yield { type: 'tool-input-delta', id, delta };
    } else if (part.type !== 'response') {
      const type = part.type === 'text-delta' ? 'text' : 'reasoning';
      if (last?.type !== type) {
        last = { type, id: String(++count), text: '' };
        open.push(last);
        yield { type: `${type}-start`, id: last.id };
      }
      last.text += part.text;
      yield { type: `${type}-delta`, id: last.id, delta: part.text };
    } else {
      const { response } = part;
      const parts = response.content.flatMap((block) => partIn(block) ?? []);
      const told = parts.flatMap((each) => (each.type === 'text' || each.type === 'reasoning' ? [each] : []));
      const isSplit =
        told.length !== open.length ||
        told.some(({ type, text }, at) => type !== open[at]?.type || text !== open[at].text);
      if (open.length === 0) {
        for (const { type, text, ...metadata } of told) {
          const id = String(++count);
          yield { type: `${type}-start`, id };
          if (text !== '') yield { type: `${type}-delta`, id, delta: text };
          yield { type: `${type}-end`, id, ...metadata };
        }
      }
      // Blocks that were streamed as one text, and those that no text was streamed of, come back with the first.
      const unsaid = response.content.filter(({ type }) => type !== 'tool_use' && type !== 'file');
      for (const [at, { type, id, text }] of open.entries()) {
        const { providerMetadata } = isSplit
          ? carrying(text, at === 0 ? unsaid : [])
          : (told[at] as WithMetadata);
        yield { type: `${type}-end`, id, ...(providerMetadata && { providerMetadata }) };
      }
      for (const id of inputs) yield { type: 'tool-input-end', id };
      for (const each of parts) if (each.type === 'file' || each.type === 'tool-call') yield each;
      yield { type: 'response-metadata', ...namesOf(response) };
      yield { type: 'finish', ...finishOf(response) };
    }
  }
}

function requestOf(call: CallOptions): ModelRequest {
  const { maxOutputTokens, temperature, stopSequences, toolChoice, abortSignal, reasoning } = call;
  const prompt = call.prompt as readonly SdkMessage[];
  const system = prompt.filter(
    ({ role, providerOptions }) => role === 'system' && providerOptions === undefined,
  );
  const choice = toolChoice?.type === 'tool' ? { tool: String(toolChoice.toolName) } : toolChoice?.type;
  const format = call.responseFormat as { type: string; schema?: JsonObject; name?: string } | undefined;
  const { schema, name } = format ?? {};
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
    responseFormat: schema && { type: 'json', schema, ...(name === undefined ? {} : { name }) },
    signal: abortSignal,
  };
}

function messageOf(source: SdkMessage, at: number): Message {
  const { role, providerOptions } = source;
  const message = toMessage(source, String(at));
  // The options of a system message are its text's.
  const own = role === 'system' ? (plainJson(providerOptions ?? {}) as JsonObject) : undefined;
  const content = message.content.flatMap((block) => {
    const { [CARRIER]: _, ...rest } = own ?? block.providerMetadata ?? {};
    const isBare = Object.keys(rest).length === 0;
    return carriedIn(block) ?? [{ ...block, providerMetadata: isBare ? undefined : rest }];
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
  const settings: string[] = UNSUPPORTED.filter((name) => call[name] !== undefined);
  const tools = ((call.tools ?? []) as readonly Part[]).flatMap(({ type, name }) =>
    type === 'function' ? [] : [`tool ${String(name)}`],
  );
  return [...settings, ...tools].map((feature) => ({ type: 'unsupported', feature }));
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
