import { callable, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { compactionBy, objectsIn, type ProviderCompaction } from './provider-compaction.js';

/** The prompt to which the instructions of a request are appended. Any own prompt replaces Anthropic's, so they cannot be added to that. */
const PROMPT =
  'Summarize this conversation so that the work can go on from the summary alone: what the user asked and what is still open, ' +
  'what was done with which outcome, what was found and decided, and the exact names, paths and values that matter.';

const optionsSchema = z.strictObject({
  /** Replaces Anthropic's prompt for the summary. */
  instructions: z.string().min(1).optional(),
  fetch: z.optional(callable<typeof globalThis.fetch>()),
});

/**
 * Lets Anthropic compact conversations, with `compaction: { type: 'summarize' }` of the Messages API. Its block is sent back with all
 * fields, including the signature.
 *
 * @example
 * const compact = anthropicCompaction();
 * const anthropic = createAnthropic({ fetch: compact.fetch });
 * const model = fromAiSdk(anthropic('claude-opus-4-6'), { compact });
 *
 * @param options `instructions`: replaces Anthropic's prompt for the summary. `fetch`: sends the requests. Default: the global `fetch`.
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export function anthropicCompaction(options: z.input<typeof optionsSchema> = {}): ProviderCompaction {
  const { instructions: prompt, fetch } = parseWith(optionsSchema, options, 'anthropicCompaction options');
  return compactionBy(
    {
      name: 'anthropicCompaction',
      usage: 'createAnthropic({ fetch: compact.fetch })',
      supports: ({ provider }) => provider.split('.').includes('anthropic'),
      list: 'messages',
      beta: 'compact-2026-09-04',
      keepsRequests: false,
      url: (url) => url,
      body({ context_management: _, ...body }, { instructions: wishes }) {
        const asked = wishes && `${prompt ?? PROMPT}\nKeep in particular: ${wishes}`;
        const instructions = asked || prompt;
        const compaction = { type: 'summarize', ...(instructions === undefined ? {} : { instructions }) };
        return { ...body, compaction };
      },
      // A block without content means that the compaction failed.
      items({ content }) {
        const found = objectsIn(content).filter(
          ({ type, content }) => type === 'compaction' && Boolean(content),
        );
        return found.length === 0 ? [] : [{ role: 'assistant', content: found }];
      },
      emptied: (answer) => ({ ...answer, content: [], stop_reason: 'end_turn' }),
    },
    fetch,
  );
}
