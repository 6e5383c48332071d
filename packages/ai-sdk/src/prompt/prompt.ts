import type { JsonObject, JsonValue, OpaqueBlock } from '@x/core';
import type { Part } from '@x/core/messages';
import type { AiSdkLanguageModel } from '../language-model.js';
import type { ProviderRules } from './provider-rules.js';

/** The prompt for an AI SDK model, as this package creates it. */
export type Prompt = readonly PromptMessage[];

interface WithOptions {
  readonly providerOptions?: JsonObject | undefined;
}

export type PromptMessage =
  | ({ readonly role: 'system'; readonly content: string } & WithOptions)
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly Part[] };

/** The output of a tool. The parts of a `content` are texts and files. The format of a file depends on the model's specification version. */
export type ToolOutput =
  | ({ readonly type: 'text' | 'error-text'; readonly value: string } & WithOptions)
  | { readonly type: 'json'; readonly value: JsonValue }
  | { readonly type: 'content'; readonly value: readonly Part[] };

/** Returns a block's metadata as `{ providerOptions }`, or an empty object if there is none. */
export function optionsOf(metadata: JsonObject | undefined): WithOptions {
  return metadata === undefined ? {} : { providerOptions: metadata };
}

/** The model that a prompt is for. */
export interface PromptTarget extends Pick<AiSdkLanguageModel, 'specificationVersion' | 'provider'> {
  /** Returns the part that represents the provider's own compaction; `undefined` for all other blocks. */
  readonly compactedPart?: ((block: OpaqueBlock) => Part | undefined) | undefined;
  /** What the provider accepts. */
  readonly rules: ProviderRules;
  /** Ids of tools that the provider defines, such as `openai.shell`, by their names in the request. */
  readonly providerTools?: ReadonlyMap<string, string>;
}

/** Returns the first part of a provider's name, under which its files and options are stored: `openai` for `openai.responses`. */
export function providerFamily(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}
