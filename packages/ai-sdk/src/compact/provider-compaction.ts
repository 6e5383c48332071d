import { randomUUID } from 'node:crypto';
import {
  CapabilityError,
  estimateCounter,
  type JsonObject,
  type JsonValue,
  type Message,
  ModelError,
  type OpaqueBlock,
  textOf,
  type Usage,
} from '@x/core';
import { isObject, nativeIndex } from '@x/core/internal';
import type { NativeCompaction, NativeCompactionRequest, Part } from '@x/core/messages';
import type { AiSdkLanguageModel, CallOptions } from '../language-model.js';
import { toUsage } from '../response/to-response.js';

/** Connects a call of the model with its request in `fetch`. It is removed before the request is sent. */
const HEADER = 'x-compaction-call';
const TYPE = 'compacted';

/**
 * Compaction on a provider's server, for the option `compact` of `fromAiSdk`: `openaiCompaction()` or `anthropicCompaction()`. Create the
 * provider with its `fetch`.
 */
export interface ProviderCompaction {
  /** The name in error messages, such as `openaiCompaction`. */
  readonly name: string;
  readonly fetch: typeof globalThis.fetch;
  /** Returns whether the provider of the model supports this compaction. */
  supports(model: AiSdkLanguageModel): boolean;
  /**
   * Asks the provider to compact the conversation.
   *
   * @param call The request that the model would receive.
   * @throws {CapabilityError} if the provider does not use `fetch`.
   * @throws {ModelError} if the answer contains no compaction.
   */
  compact(
    model: AiSdkLanguageModel,
    call: CallOptions,
    request: NativeCompactionRequest,
  ): Promise<NativeCompaction>;
  /** Returns the text that represents a compaction block in a prompt, until `fetch` replaces it with the items. `undefined` for other blocks. */
  partOf(block: OpaqueBlock): Part | undefined;
  /**
   * Returns the conversation for the provider: its newest compaction replaces the earlier messages, except system messages and user requests
   * that the compaction does not contain.
   */
  view(messages: readonly Message[], provider: string): readonly Message[];
}

/** The differences between the compactions of providers. */
export interface CompactionProtocol {
  readonly name: string;
  /** The code that creates a provider with `fetch`, for error messages. */
  readonly usage: string;
  supports(model: AiSdkLanguageModel): boolean;
  /** The key of the conversation in the body of a request. */
  readonly list: 'input' | 'messages';
  /** The value that the header `anthropic-beta` needs for requests with a compaction. */
  readonly beta?: string;
  /** `true` if the items contain the user's messages word for word. Otherwise, they are sent again after the items. */
  readonly keepsRequests: boolean;
  /** Converts the URL of a request for an answer to that of a request for a compaction. */
  url(url: URL): URL;
  /** Converts the body of a request for an answer to that of a request for a compaction. */
  body(body: JsonObject, wishes: Pick<NativeCompactionRequest, 'system' | 'instructions'>): JsonObject;
  /** Returns the items of an answer that replace the conversation, in the format of `list`. Empty if the compaction failed. */
  items(answer: JsonObject): readonly JsonObject[];
  /** Returns the answer without content, in the format that the provider's package expects. */
  emptied(answer: JsonObject, sent: JsonObject): JsonObject;
}

/** A compaction whose request is being sent. `items` is set by its answer. */
interface Pending {
  readonly request: NativeCompactionRequest;
  items?: readonly JsonObject[];
}

/**
 * Creates a compaction from its protocol. The AI SDK's packages do not support these endpoints, or lose fields of their items. So `fetch`
 * rewrites the requests and answers of the provider. The provider still adds the key, the URL and the headers, and converts the messages.
 */
export function compactionBy(
  protocol: CompactionProtocol,
  fetch: typeof globalThis.fetch | undefined,
): ProviderCompaction {
  const send: typeof globalThis.fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
  // The marker is secret, so that no text in a conversation can imitate items.
  const marker = `${randomUUID()}:`;
  const pending = new Map<string, Pending>();
  const { name, list, beta } = protocol;

  return {
    name,
    supports: (model) => protocol.supports(model),
    partOf(block) {
      const items = itemsIn(block);
      return items && { type: 'text', text: `${marker}${JSON.stringify(items)}` };
    },
    view: (messages, provider) => viewOf(messages, provider, protocol.keepsRequests),

    async compact(model, call, request) {
      const id = randomUUID();
      const compaction: Pending = { request };
      pending.set(id, compaction);
      try {
        const result = await model.doGenerate({ ...call, headers: { ...call.headers, [HEADER]: id } });
        const { items } = compaction;
        if (items === undefined) throw withoutFetch(model.provider, protocol);
        const usage = toUsage(result.usage);
        const block: OpaqueBlock = {
          type: 'opaque',
          provider: model.provider,
          data: { type: TYPE, items },
          ...sizeOf(items, usage),
        };
        return { content: [block], ...(usage === undefined ? {} : { usage }) };
      } finally {
        pending.delete(id);
      }
    },

    async fetch(input, init) {
      const { body } = init ?? {};
      const headers = new Headers(init?.headers);
      const compaction = pending.get(headers.get(HEADER) ?? '');
      if (typeof body !== 'string' || (compaction === undefined && !body.includes(marker))) {
        return await send(input, init);
      }
      headers.delete(HEADER);
      if (beta !== undefined) headers.append('anthropic-beta', beta);
      const sent = withItems(JSON.parse(body) as JsonObject, list, marker);
      if (compaction === undefined) {
        return await send(input, { ...init, headers, body: JSON.stringify(sent) });
      }
      const url = protocol.url(new URL(input instanceof Request ? input.url : input));
      const asked = protocol.body(sent, compaction.request);
      const response = await send(url, { ...init, headers, body: JSON.stringify(asked) });
      if (!response.ok) return response;
      const answer = (await response.json()) as JsonObject;
      const items = protocol.items(answer);
      if (items.length === 0) {
        // Without an item, the answer must not replace the conversation.
        const modelId = String(sent.model);
        const message = `${modelId} returned no compaction, so the conversation is unchanged. Try again, or omit the option compact of fromAiSdk.`;
        throw new ModelError(message, { modelId, retryable: false });
      }
      compaction.items = items;
      return Response.json(protocol.emptied(answer, sent));
    },
  };
}

function viewOf(messages: readonly Message[], provider: string, keepsRequests: boolean): readonly Message[] {
  const at = messages.findLastIndex((message) => {
    const block = message.content[nativeIndex(message)];
    return block?.type === 'opaque' && block.provider === provider && itemsIn(block) !== undefined;
  });
  const summary = messages[at];
  if (summary === undefined) return messages;
  const before = messages.slice(0, at);
  const behind = messages.slice(at + 1);
  const native = { ...summary, content: summary.content.slice(nativeIndex(summary)) };
  const requests = keepsRequests ? [] : before.filter(isRequest);
  // The request that is still unanswered comes last.
  const live = behind.some(isRequest) ? [] : requests.slice(-1);
  const said = JSON.stringify(native.content);
  const earlier = requests
    .slice(0, requests.length - live.length)
    .filter(
      ({ content }) =>
        content.some(({ type }) => type !== 'text') ||
        !said.includes(JSON.stringify(textOf(content)).slice(1, -1)),
    );
  const lead: Message = { id: 'earlier-requests', role: 'user', createdAt: '', content: [EARLIER] };
  return [
    ...before.filter(({ role }) => role === 'system'),
    native,
    ...(earlier.length === 0 ? [] : [lead, ...earlier]),
    ...live,
    ...behind,
  ];
}

/** Introduces earlier requests, whose outcome is in the provider's summary. */
const EARLIER = {
  type: 'text',
  text: '[What the user asked before, word for word: the summary above tells what became of it. It holds unless the user said otherwise since.]',
} as const;

/** Returns the items in a compaction block, or `undefined` for other blocks. */
function itemsIn({ data }: OpaqueBlock): readonly JsonValue[] | undefined {
  return isObject(data) && data.type === TYPE && Array.isArray(data.items) ? data.items : undefined;
}

/** Returns the tokens of the items. New items are encrypted, so the reported output tokens are used. Repeated user messages are counted. */
function sizeOf(items: readonly JsonObject[], usage: Usage | undefined): { readonly tokens?: number } {
  if (usage === undefined) return {};
  const repeated = items.filter(({ role }) => role === 'user').map(({ content = null }) => content);
  const written = Math.max(0, usage.outputTokens - (usage.reasoningTokens ?? 0));
  const counted = repeated.length === 0 ? 0 : estimateCounter.count(JSON.stringify(repeated));
  return { tokens: written + counted };
}

/** Returns the objects in a list. Empty if the value is not a list. */
export function objectsIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter((item: JsonValue): item is JsonObject => isObject(item)) : [];
}

function isRequest({ role, kind }: Message): boolean {
  return role === 'user' && kind === undefined;
}

/** Replaces each text in a body that begins with `marker` by the items in it. */
function withItems(body: JsonObject, list: string, marker: string): JsonObject {
  const { [list]: messages } = body;
  return Array.isArray(messages)
    ? { ...body, [list]: messages.flatMap((message) => expanded(message, marker)) }
    : body;
}

/** Splits a message at its marked texts, and replaces each of them by its items. */
function expanded(item: JsonValue, marker: string): readonly JsonValue[] {
  if (!isObject(item) || !Array.isArray(item.content)) return [item];
  const items: JsonValue[] = [];
  let rest: JsonValue[] = [];
  const close = () => {
    if (rest.length > 0) items.push({ ...item, content: rest });
    rest = [];
  };
  for (const part of item.content as readonly JsonValue[]) {
    const text = isObject(part) ? part.text : undefined;
    if (typeof text === 'string' && text.startsWith(marker)) {
      close();
      items.push(...(JSON.parse(text.slice(marker.length)) as readonly JsonValue[]));
    } else rest.push(part);
  }
  close();
  return items;
}

function withoutFetch(provider: string, { name, usage }: CompactionProtocol): CapabilityError {
  return new CapabilityError(
    'compaction',
    `${provider} does not use the fetch of ${name}. Create the provider with ${usage}, and then the model.`,
  );
}
