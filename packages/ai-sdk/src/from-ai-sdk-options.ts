import { callable, having, type JsonObject } from '@x/core';
import * as z from 'zod';
import type { ProviderCompaction } from './compact/provider-compaction.js';
import type { ProviderData } from './language-model.js';
import type { ResolveFile } from './prompt/resolve-files.js';

const isObject = (value: unknown) => typeof value === 'object' && value !== null;

export const fromAiSdkOptionsSchema = z.strictObject({
  /** Default `<provider>:<modelId>`. */
  id: z.string().min(1).optional(),
  /**
   * Tokens that a request and its answer may hold together. The AI SDK does not know it, and without it neither a
   * budget in per cent nor a silent overflow can be seen.
   */
  contextWindow: z.int().positive().optional(),
  /**
   * The provider keeps answers to a JSON Schema, also in requests that have tools: then that is how an agent asks for
   * `output`, and otherwise by a tool. Mind what the provider's strict mode refuses, such as optional fields. Default false.
   */
  structuredOutput: z.boolean().optional(),
  maxOutputTokens: z.int().positive().optional(),
  temperature: z.number().optional(),
  topP: z.number().optional(),
  topK: z.number().optional(),
  presencePenalty: z.number().optional(),
  frequencyPenalty: z.number().optional(),
  seed: z.int().optional(),
  stopSequences: z.array(z.string()).readonly().optional(),
  /** How much the model thinks, for models of version 4: `'none'` to `'max'`. Before, it is a provider option. */
  reasoning: z.string().optional(),
  /** By provider, as in the AI SDK; for example `{ anthropic: { cacheControl: { type: 'ephemeral' } } }`. */
  providerOptions: z
    .custom<ProviderData>(
      (value) => isObject(value) && Object.values(value).every(isObject),
      'must hold an object for each provider',
    )
    .optional(),
  headers: z.record(z.string(), z.string()).optional(),
  /** Tools that the provider runs, as its package describes them to a model: `{ type: 'provider', id, name, args }`. */
  providerTools: z.array(z.custom<JsonObject>(isObject, 'must be an object')).readonly().optional(),
  /** The provider's own compaction: `openaiCompaction` or `anthropicCompaction`. Default: the model offers none. */
  compact: z.optional(having<ProviderCompaction>('compact', 'openaiCompaction() or anthropicCompaction()')),
  /** Fetches files that the model cannot: those of the workspace, of other providers, and URLs it does not fetch. */
  resolveFile: z.optional(callable<ResolveFile>()),
  /** Told what the provider could not do as asked, for example a setting that it does not know. Default: nobody. */
  onWarning: z.optional(callable<(warning: unknown) => void>()),
});

/** How an AI SDK model is used. What a request says itself (`maxOutputTokens`, `temperature`) comes before this. */
export type FromAiSdkOptions = Readonly<z.input<typeof fromAiSdkOptionsSchema>>;
