import {
  assistantMessage,
  countRequest,
  estimateCounter,
  type JsonObject,
  type Message,
  parseWith,
} from '@x/core';
import * as z from 'zod';
import type { CallOptions, ContentPart } from '../language-model.js';
import { toBlocks } from '../response/to-blocks.js';
import { toUsage } from '../response/usage.js';
import type { ProviderCompaction } from './provider-compaction.js';

const EDIT = 'compact_20260112';
const BETA = 'compact-2026-01-12';
/** Anthropic refuses a lower trigger, so a shorter conversation cannot be compacted. */
const MIN_TOKENS = 50_000;

const optionsSchema = z.strictObject({
  /** Replaces Anthropic's own prompt for the summary. */
  instructions: z.string().min(1).optional(),
});

/**
 * Anthropic's compaction: the edit `compact_20260112` of its context management, paused after the compaction. The
 * provider's package writes and reads it, so nothing but the option is needed:
 *
 *     const model = fromAiSdk(anthropic('claude-opus-4-6'), { compact: anthropicCompaction() });
 *
 * A conversation of fewer than 50 000 tokens, estimated, comes back as it is: Anthropic compacts none.
 *
 * @throws {InvalidInputError} for options that do not fit.
 */
export function anthropicCompaction(options: z.input<typeof optionsSchema> = {}): ProviderCompaction {
  const { instructions } = parseWith(optionsSchema, options, 'anthropicCompaction options');
  const edit = {
    type: EDIT,
    trigger: { type: 'input_tokens', value: MIN_TOKENS },
    pauseAfterCompaction: true,
    ...(instructions === undefined ? {} : { instructions }),
  };

  return {
    name: 'anthropicCompaction',
    supports: ({ provider }) => provider.split('.').includes('anthropic'),

    async compact(model, call, request) {
      if (countRequest(estimateCounter, request) < MIN_TOKENS) return { messages: request.messages };
      const { content, usage } = await model.doGenerate(compacting(call, edit));
      const blocks = toBlocks(content.filter(isCompaction), model.provider);
      const counted = toUsage(usage);
      return {
        messages: blocks.length === 0 ? [] : [assistantMessage(blocks, { kind: 'summary' })],
        ...(counted === undefined ? {} : { usage: counted }),
      };
    },

    prepareCall(call, messages) {
      if (!messages.some(holdsCompaction)) return call;
      const betas = call.headers?.['anthropic-beta'];
      const beta = betas === undefined ? BETA : `${betas},${BETA}`;
      return { ...call, headers: { ...call.headers, 'anthropic-beta': beta } };
    },
  };
}

function compacting(call: CallOptions, edit: JsonObject): CallOptions {
  const { providerOptions } = call;
  const given = providerOptions?.anthropic?.contextManagement as
    | { readonly edits?: readonly JsonObject[] }
    | undefined;
  const edits = [...(given?.edits ?? []).filter(({ type }) => type !== EDIT), edit];
  return {
    ...call,
    prompt: endingWithUser(call.prompt),
    providerOptions: {
      ...providerOptions,
      anthropic: { ...providerOptions?.anthropic, contextManagement: { ...given, edits } },
    },
  };
}

/** An assistant's message at the end would be taken for the beginning of the answer, which newer models refuse. */
function endingWithUser(prompt: CallOptions['prompt']): CallOptions['prompt'] {
  if (prompt.at(-1)?.role !== 'assistant') return prompt;
  return [...prompt, { role: 'user', content: [{ type: 'text', text: 'Go on.' }] }];
}

function isCompaction(part: ContentPart): boolean {
  return (
    part.type === 'text' && Boolean(part.text) && part.providerMetadata?.anthropic?.type === 'compaction'
  );
}

function holdsCompaction({ content }: Message): boolean {
  return content.some((block) => {
    const metadata = block.providerMetadata?.anthropic as JsonObject | undefined;
    return block.type === 'text' && metadata?.type === 'compaction';
  });
}
