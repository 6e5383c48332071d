import type { JsonObject, JsonValue } from '@x/core';
import { callable, isObject, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { compactionBy, objectsIn, type ProviderCompaction } from './provider-compaction.js';

/** The fields of a request to `/responses` that `/responses/compact` accepts, too. */
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
 * Lets OpenAI or Azure compact conversations.
 *
 * @example
 * const compact = openaiCompaction();
 * const openai = createOpenAI({ fetch: compact.fetch });
 * const model = fromAiSdk(openai('gpt-5'), { compact });
 *
 * @param options `fetch`: sends the requests. Default: the global `fetch`.
 *
 *   `via`: `endpoint` sends a request to `/responses/compact`, whose answer repeats the user's messages. `trigger` ends a request to
 *   `/responses` with a `compaction_trigger`, for gateways that only serve this path. Default `endpoint`.
 *
 *   `threshold`: the number of tokens above which the server compacts within an answer, without a separate request
 *   (`context_management`). At least 1 000. Default: never.
 * @throws {InvalidInputError} for unknown or invalid options.
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
        // `instructions` contain the system prompt, which is not compacted.
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
        // The API would reject a compaction without content in every later request.
        if (!compacted.every(({ encrypted_content: sealed }) => sealed && typeof sealed === 'string'))
          return [];
        return isEndpoint && compacted.length > 0 ? items : compacted;
      },
      emptied: (answer, { model = null }) => ({ ...answer, object: 'response', model, output: [] }),
    },
    threshold === undefined ? fetch : compactingFrom(threshold, fetch),
  );
}

/** Marks the content of a reasoning item that contains a compaction. */
const CARRIED = 'compaction:';

/**
 * Returns a `fetch` with which the server compacts within its answers. The SDK's packages before version 7 reject the compaction item in
 * such an answer, but keep reasoning items unchanged. So the item is converted to a reasoning item in the answer, and back in requests.
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
    // Requests for embeddings or speech have an `input`, too.
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
    // These headers describe the original body, which is replaced.
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

/** Tests by the metadata of reasoning whether it contains a compaction. */
export function carriesCompaction(metadata: unknown): boolean {
  return JSON.stringify(metadata ?? {}).includes(`"reasoningEncryptedContent":"${CARRIED}`);
}

function restored(item: JsonObject): JsonObject {
  const { type, encrypted_content: content } = item;
  const carries = type === 'reasoning' && typeof content === 'string' && content.startsWith(CARRIED);
  return carries ? (JSON.parse(content.slice(CARRIED.length)) as JsonObject) : item;
}

/** Converts the compaction items in a stream of events to reasoning items. */
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
