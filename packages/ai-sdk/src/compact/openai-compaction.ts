import { parseWith } from '@x/core';
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
  fetch: z.custom<typeof globalThis.fetch>((value) => typeof value === 'function').optional(),
  via: z.enum(['endpoint', 'trigger']).default('endpoint'),
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
 *   `compaction_trigger`, for gateways that serve no other path. Default `endpoint`.
 * @throws {InvalidInputError} for options that do not fit.
 */
export function openaiCompaction(options: z.input<typeof optionsSchema> = {}): ProviderCompaction {
  const { fetch, via } = parseWith(optionsSchema, options, 'openaiCompaction options');
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
        return isEndpoint && compacted.length > 0 ? items : compacted;
      },
      emptied: (answer, { model = null }) => ({ ...answer, object: 'response', model, output: [] }),
    },
    fetch,
  );
}
