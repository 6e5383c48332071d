import type { JsonObject, JsonValue } from '@x/core';
import { callable, isObject, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { compactionBy, objectsIn, type ProviderCompaction } from './provider-compaction.js';

/** What the endpoint takes of a request for an answer. */
const FIELDS = [
  'model',
  'prompt_cache_key',
  'prompt_cache_options',
  'prompt_cache_retention',
  'service_tier',
] as const;

const optionsSchema = z.strictObject({
  fetch: z.optional(callable<typeof globalThis.fetch>()),
  via: z.enum(['endpoint', 'trigger']).default('endpoint'),
  threshold: z.int().min(1_000).optional(),
});

/**
 * OpenAI's and Azure's own compaction.
 *
 * @example
 * const compact = openaiCompaction();
 * const openai = createOpenAI({ fetch: compact.fetch });
 * const model = fromAiSdk(openai('gpt-5'), { compact });
 *
 * @param options `fetch`: does the calls in the end; default the global one. `via`: `endpoint` posts to
 *   `/responses/compact`, whose answer repeats what users said; `trigger` ends a request to `/responses` with a
 *   `compaction_trigger`, for gateways that serve no other path. Default `endpoint`. `threshold`: has the server compact by
 *   itself, within an answer, from so many tokens on (`context_management`); 1 000 at least. Default: it does not.
 * @throws {InvalidInputError} for invalid options.
 */
export function openaiCompaction(options: z.input<typeof optionsSchema> = {}): ProviderCompaction {
  const { fetch, via, threshold } = parseWith(optionsSchema, options, 'openaiCompaction options');
  const isEndpoint = via === 'endpoint';
  return compactionBy(
    {
      name: 'openaiCompaction',
      usage: 'createOpenAI({ fetch: compact.fetch })',
      supports: ({ provider }) => provider.endsWith('.responses'),
      list: 'input',
      keepsRequests: isEndpoint,
      url(url) {
        if (isEndpoint) url.pathname = `${url.pathname.replace(/\/$/, '')}/compact`;
        return url;
      },
      body(body, { system, instructions }) {
        // The system prompt is no part of what is condensed: `instructions` say it.
        const input = objectsIn(body.input).filter(({ role }) => role !== 'system' && role !== 'developer');
        const wishes =
          instructions && `When you compact this conversation, keep in particular: ${instructions}`;
        const said = [system, wishes].filter(Boolean).join('\n\n');
        const asked = said === '' ? {} : { instructions: said };
        if (!isEndpoint) return { ...body, input: [...input, { type: 'compaction_trigger' }], ...asked };
        const fields = FIELDS.flatMap((field) => (body[field] === undefined ? [] : [[field, body[field]]]));
        return { ...Object.fromEntries(fields), input, ...asked };
      },
      items({ output }) {
        const items = objectsIn(output);
        const compacted = items.filter(({ type }) => type === 'compaction');
        // One without its content would be refused in every later request.
        if (!compacted.every(({ encrypted_content: sealed }) => sealed && typeof sealed === 'string'))
          return [];
        return isEndpoint && compacted.length > 0 ? items : compacted;
      },
      emptied: (answer, { model = null }) => ({ ...answer, object: 'response', model, output: [] }),
    },
    threshold === undefined ? fetch : compactingFrom(threshold, fetch),
  );
}

/** The beginning of what a reasoning item carries instead of its thoughts: a compaction. */
const CARRIED = 'compaction:';

/**
 * Has the server compact within its answers. The SDK's packages before version 7 refuse the item that it then gives, and carry
 * reasoning with every byte: so the item travels through them as reasoning, which only its provider is sent again.
 */
function compactingFrom(
  threshold: number,
  fetch: typeof globalThis.fetch = (input, init) => globalThis.fetch(input, init),
): typeof globalThis.fetch {
  const management = { context_management: [{ type: 'compaction', compact_threshold: threshold }] };
  return async (url, init) => {
    if (typeof init?.body !== 'string') return await fetch(url, init);
    const { pathname } = new URL(url instanceof Request ? url.url : url);
    const isAnswer = pathname.endsWith('/responses');
    // Embeddings, speech and the like have an `input`, too.
    if (!isAnswer && !pathname.endsWith('/responses/compact')) return await fetch(url, init);
    const body = JSON.parse(init.body) as JsonObject;
    const input = Array.isArray(body.input)
      ? body.input.map((item) => (isObject(item) ? restored(item as JsonObject) : item))
      : body.input;
    const last = objectsIn(input).at(-1);
    const answers = isAnswer && last?.type !== 'compaction_trigger';
    const sent = JSON.stringify({ ...body, input, ...(answers ? management : {}) });
    const response = await fetch(url, { ...init, body: sent });
    if (!answers || !response.ok || response.body === null) return response;
    const { status } = response;
    const headers = new Headers(response.headers);
    // Of the bytes that came, which are other ones now.
    headers.delete('content-length');
    headers.delete('content-encoding');
    if (headers.get('content-type')?.includes('event-stream')) {
      return new Response(withCarriedItems(response.body), { status, headers });
    }
    const answer = (await response.json()) as JsonObject;
    return Response.json({ ...answer, output: objectsIn(answer.output).map(carried) }, { status, headers });
  };
}

function carried(item: JsonObject): JsonObject {
  if (item.type !== 'compaction') return item;
  const { id = 'compaction' } = item;
  return { type: 'reasoning', id, encrypted_content: `${CARRIED}${JSON.stringify(item)}`, summary: [] };
}

/** Tests whether reasoning carries a compaction, by its metadata. */
export function carriesCompaction(metadata: unknown): boolean {
  return JSON.stringify(metadata ?? {}).includes(`"reasoningEncryptedContent":"${CARRIED}`);
}

function restored(item: JsonObject): JsonObject {
  const { type, encrypted_content: content } = item;
  const carries = type === 'reasoning' && typeof content === 'string' && content.startsWith(CARRIED);
  return carries ? (JSON.parse(content.slice(CARRIED.length)) as JsonObject) : item;
}

/** Changes the items in a stream of events, and nothing else. */
function withCarriedItems(events: ReadableStream<Uint8Array>): ReadableStream<Uint8Array> {
  const changed = (line: string): string => {
    if (!line.startsWith('data: {') || !line.includes('"compaction"')) return line;
    const data = JSON.parse(line.slice('data: '.length)) as { readonly item?: JsonValue };
    return isObject(data.item) ? `data: ${JSON.stringify({ ...data, item: carried(data.item) })}` : line;
  };
  let rest = '';
  const lines = new TransformStream<string, string>({
    transform(chunk, controller) {
      const complete = `${rest}${chunk}`.split('\n');
      rest = complete.pop() ?? '';
      for (const line of complete) controller.enqueue(`${changed(line)}\n`);
    },
    flush: (controller) => controller.enqueue(changed(rest)),
  });
  return events.pipeThrough(new TextDecoderStream()).pipeThrough(lines).pipeThrough(new TextEncoderStream());
}
