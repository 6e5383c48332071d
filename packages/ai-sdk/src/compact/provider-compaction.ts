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

const HEADER = 'x-compaction-call';
const TYPE = 'compacted';

/** A provider's own compaction, for the option `compact` of `fromAiSdk`. Its provider must call through `fetch`. */
export interface ProviderCompaction {
  /** For messages to the user: `openaiCompaction`. */
  readonly name: string;
  readonly fetch: typeof globalThis.fetch;
  /** Whether models of this provider have it. */
  supports(model: AiSdkLanguageModel): boolean;
  /**
   * Has the provider condense the conversation.
   *
   * @param call The request as the model would be sent it.
   */
  compact(
    model: AiSdkLanguageModel,
    call: CallOptions,
    request: NativeCompactionRequest,
  ): Promise<NativeCompaction>;
  /** The text that represents a block of this compaction in a prompt, until `fetch` replaces it with the items. */
  partOf(block: OpaqueBlock): Part | undefined;
  /** The conversation as the provider is to be sent it: its newest compaction instead of everything before. */
  view(messages: readonly Message[], provider: string): readonly Message[];
}

/** How a provider is asked for a compaction: what differs between providers. */
export interface CompactionProtocol {
  readonly name: string;
  /** How a user passes `fetch` on, for messages. */
  readonly usage: string;
  supports(model: AiSdkLanguageModel): boolean;
  /** The key of the conversation in the body of a request. */
  readonly list: 'input' | 'messages';
  /** The value that the header `anthropic-beta` needs for requests with a compaction. */
  readonly beta?: string;
  /** True where the items hold what users said word for word; else the requests that the conversation kept are sent again behind them. */
  readonly keepsRequests: boolean;
  /** The address of the endpoint, made from that for answers. */
  url(url: URL): URL;
  /** The body of the request for a compaction, made from that of a request for an answer. */
  body(body: JsonObject, wishes: Pick<NativeCompactionRequest, 'system' | 'instructions'>): JsonObject;
  /** The items of an answer that stand for the conversation, as the list of the body takes them. */
  items(answer: JsonObject): readonly JsonObject[];
  /** The answer without a word, in the form that the provider's package expects. */
  emptied(answer: JsonObject, sent: JsonObject): JsonObject;
}

interface Pending {
  readonly request: NativeCompactionRequest;
  items?: readonly JsonObject[];
}

/**
 * The AI SDK's packages do not know these endpoints, or lose fields of their items. So both travel through the `fetch` of
 * the provider, which thereby keeps key, URL, headers and its way to write a conversation to itself.
 */
export function compactionBy(
  protocol: CompactionProtocol,
  fetch: typeof globalThis.fetch | undefined,
): ProviderCompaction {
  const send: typeof globalThis.fetch = (input, init) => (fetch ?? globalThis.fetch)(input, init);
  // Nobody who writes in a conversation knows it, so no text of theirs can be taken for items.
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
        // It must not replace a conversation.
        const modelId = String(sent.model);
        const message = `The compaction by ${modelId} holds no compaction item.`;
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
  // What is still to be answered stands last, as it was said.
  const live = behind.some(isRequest) ? [] : requests.slice(-1);
  const said = JSON.stringify(native.content);
  const earlier = requests
    .slice(0, requests.length - live.length)
    .filter((request) => !said.includes(JSON.stringify(textOf(request)).slice(1, -1)));
  const lead: Message = { id: 'earlier-requests', role: 'user', createdAt: '', content: [EARLIER] };
  return [
    ...before.filter(({ role }) => role === 'system'),
    native,
    ...(earlier.length === 0 ? [] : [lead, ...earlier]),
    ...live,
    ...behind,
  ];
}

/** Stands in front of requests that a provider's summary tells the outcome of. */
const EARLIER = {
  type: 'text',
  text: '[What the user asked before, word for word: the summary above tells what became of it. It holds unless the user said otherwise since.]',
} as const;

/** The items in a block of {@link ProviderCompaction.compact}. */
function itemsIn({ data }: OpaqueBlock): readonly JsonValue[] | undefined {
  return isObject(data) && data.type === TYPE && Array.isArray(data.items) ? data.items : undefined;
}

/** Base64 says nothing of the size: the provider told what it wrote. What it only repeats is counted. */
function sizeOf(items: readonly JsonObject[], usage: Usage | undefined): { readonly tokens?: number } {
  if (usage === undefined) return {};
  const repeated = items.filter(({ role }) => role === 'user').map(({ content = null }) => content);
  const written = Math.max(0, usage.outputTokens - (usage.reasoningTokens ?? 0));
  const counted = repeated.length === 0 ? 0 : estimateCounter.count(JSON.stringify(repeated));
  return { tokens: written + counted };
}

/** The objects of a list. */
export function objectsIn(list: JsonValue | undefined): readonly JsonObject[] {
  return Array.isArray(list) ? list.filter((item: JsonValue): item is JsonObject => isObject(item)) : [];
}

function isRequest({ role, kind }: Message): boolean {
  return role === 'user' && kind === undefined;
}

/** The body with each text that begins with `marker` replaced by the items that it holds. */
function withItems(body: JsonObject, list: string, marker: string): JsonObject {
  const { [list]: messages } = body;
  return Array.isArray(messages)
    ? { ...body, [list]: messages.flatMap((message) => expanded(message, marker)) }
    : body;
}

/** A user's message falls into the parts before, between and after the marked texts. */
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
    `${provider} does not call through ${name}: pass its fetch to the provider, ${usage}, before you make the model.`,
  );
}
