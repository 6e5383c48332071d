import type { JsonObject } from '@x/core';
import * as z from 'zod';
import type { ProviderCompaction } from './compact/provider-compaction.js';
import type { ProviderData } from './language-model.js';
import type { ResolveFile } from './prompt/resolve-files.js';

/** How an AI SDK model is used. What a request says itself (`maxOutputTokens`, `temperature`) comes before this. */
export interface FromAiSdkOptions {
  /** Default `<provider>:<modelId>`. */
  readonly id?: string | undefined;
  /**
   * Tokens that a request and its answer may hold together. The AI SDK does not know it, and without it neither a
   * budget in per cent nor a silent overflow can be seen.
   */
  readonly contextWindow?: number | undefined;
  /**
   * The provider keeps answers to a JSON Schema, also in requests that have tools: then that is how an agent asks for
   * `output`, and otherwise by a tool. Mind what the provider's strict mode refuses, such as optional fields. Default false.
   */
  readonly structuredOutput?: boolean | undefined;
  readonly maxOutputTokens?: number | undefined;
  readonly temperature?: number | undefined;
  readonly topP?: number | undefined;
  readonly topK?: number | undefined;
  readonly presencePenalty?: number | undefined;
  readonly frequencyPenalty?: number | undefined;
  readonly seed?: number | undefined;
  readonly stopSequences?: readonly string[] | undefined;
  /** How much the model thinks, for models of version 4: `'none'` to `'max'`. Before, it is a provider option. */
  readonly reasoning?: string | undefined;
  /** By provider, as in the AI SDK; for example `{ anthropic: { cacheControl: { type: 'ephemeral' } } }`. */
  readonly providerOptions?: ProviderData | undefined;
  readonly headers?: { readonly [name: string]: string } | undefined;
  /** Tools that the provider runs, as its package describes them to a model: `{ type: 'provider', id, name, args }`. */
  readonly providerTools?: readonly JsonObject[] | undefined;
  /** The provider's own compaction: `openaiCompaction` or `anthropicCompaction`. Default: the model offers none. */
  readonly compact?: ProviderCompaction | undefined;
  /** Fetches files that the model cannot: those of the workspace, of other providers, and URLs it does not fetch. */
  readonly resolveFile?: ResolveFile | undefined;
  /** Told what the provider could not do as asked, for example a setting that it does not know. Default: nobody. */
  readonly onWarning?: ((warning: unknown) => void) | undefined;
}

const functionSchema = z.custom<never>((value) => typeof value === 'function', 'must be a function');
const compactionSchema = z.custom<never>(
  (value) => typeof (value as ProviderCompaction | null)?.compact === 'function',
  'must be openaiCompaction() or anthropicCompaction()',
);
const objectSchema = z.record(z.string(), z.any());

export const fromAiSdkOptionsSchema: z.ZodType<FromAiSdkOptions> = z.strictObject({
  id: z.string().min(1).optional(),
  contextWindow: z.int().positive().optional(),
  structuredOutput: z.boolean().optional(),
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  seed: z.int().optional(),
  stopSequences: z.array(z.string()).optional(),
  reasoning: z.string().optional(),
  providerOptions: z.record(z.string(), objectSchema).optional(),
  headers: z.record(z.string(), z.string()).optional(),
  providerTools: z.array(objectSchema).optional(),
  compact: compactionSchema.optional(),
  resolveFile: functionSchema.optional(),
  onWarning: functionSchema.optional(),
});
