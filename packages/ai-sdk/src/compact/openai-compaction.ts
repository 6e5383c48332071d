import { randomUUID } from 'node:crypto';
import { assistantMessage, CapabilityError, type JsonObject, type JsonValue, ModelError } from '@x/core';
import { toUsage } from '../response/usage.js';
import { compactedBlock, compactedItems } from './compacted-items.js';
import type { ProviderCompaction } from './provider-compaction.js';
import { compactBody, isObject, withItems } from './responses-body.js';

const HEADER = 'x-compaction-call';

/** OpenAI's compaction, and the `fetch` through which its provider must call. */
export interface OpenaiCompaction extends ProviderCompaction {
  readonly fetch: typeof globalThis.fetch;
}

/** One compaction on its way. */
interface Pending {
  readonly instructions: string | undefined;
  output?: readonly JsonValue[];
}

/**
 * OpenAI's and Azure's compaction, `POST /responses/compact`. Their AI SDK packages know neither the endpoint nor its
 * items, so both travel through the `fetch` of the provider, which thereby keeps key, URL, headers and its way to write
 * a conversation to itself:
 *
 *     const compact = openaiCompaction();
 *     const openai = createOpenAI({ fetch: compact.fetch });
 *     const model = fromAiSdk(openai('gpt-5'), { compact });
 *
 * @param options `fetch`: what does the calls in the end; default the global one.
 */
export function openaiCompaction(
  options: { readonly fetch?: typeof globalThis.fetch | undefined } = {},
): OpenaiCompaction {
  const send: typeof globalThis.fetch = (input, init) => (options.fetch ?? globalThis.fetch)(input, init);
  // Nobody who writes in a conversation knows it, so no text of theirs can be taken for items.
  const marker = `${randomUUID()}:`;
  const pending = new Map<string, Pending>();

  return {
    name: 'openaiCompaction',
    supports: ({ provider }) => provider.endsWith('.responses'),
    partOf(block) {
      const items = compactedItems(block);
      return items && { type: 'text', text: `${marker}${JSON.stringify(items)}` };
    },

    async compact(model, call, { system }) {
      const id = randomUUID();
      const compaction: Pending = { instructions: system };
      pending.set(id, compaction);
      try {
        // The system prompt is no part of what is condensed.
        const prompt = call.prompt.filter(({ role }) => role !== 'system');
        const { usage } = await model.doGenerate({
          ...call,
          prompt,
          tools: undefined,
          headers: { ...call.headers, [HEADER]: id },
        });
        if (compaction.output === undefined) throw withoutFetch(model.provider);
        const counted = toUsage(usage);
        return {
          messages: [
            assistantMessage([compactedBlock(model.provider, compaction.output)], { kind: 'summary' }),
          ],
          ...(counted === undefined ? {} : { usage: counted }),
        };
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
      const sent = withItems(JSON.parse(body) as JsonObject, marker);
      if (compaction === undefined)
        return await send(input, { ...init, headers, body: JSON.stringify(sent) });

      const response = await send(compactUrl(input), {
        ...init,
        headers,
        body: JSON.stringify(compactBody(sent, compaction.instructions)),
      });
      if (!response.ok) return response;
      const answer = (await response.json()) as JsonObject;
      compaction.output = outputOf(answer, String(sent.model));
      // An answer without a word, in the form that the provider's package expects.
      return Response.json({ ...answer, object: 'response', model: sent.model, output: [] });
    },
  };
}

/** @throws {ModelError} for what is no compaction: it must not replace a conversation. */
function outputOf({ output }: JsonObject, modelId: string): readonly JsonValue[] {
  const isItem = (item: JsonValue) => isObject(item) && item.type === 'compaction';
  if (Array.isArray(output) && output.some(isItem)) return output as readonly JsonValue[];
  throw new ModelError(`The compaction by ${modelId} holds no compaction item.`, {
    modelId,
    retryable: false,
  });
}

function compactUrl(input: Parameters<typeof globalThis.fetch>[0]): URL {
  const url = new URL(input instanceof Request ? input.url : input);
  url.pathname = `${url.pathname.replace(/\/$/, '')}/compact`;
  return url;
}

function withoutFetch(provider: string): CapabilityError {
  return new CapabilityError(
    'compaction',
    `${provider} does not call through openaiCompaction: pass its fetch to the provider, ` +
      'createOpenAI({ fetch: compact.fetch }), before you make the model.',
  );
}
