import type { JsonObject, JsonValue, OpaqueBlock } from '@x/core';
import type { Part } from '@x/core/messages';
import type { AiSdkLanguageModel } from '../language-model.js';
import type { ProviderRules } from './provider-rules.js';

/** The prompt of an AI SDK model, as this package writes it. */
export type Prompt = readonly PromptMessage[];

interface WithOptions {
  readonly providerOptions?: JsonObject | undefined;
}

export type PromptMessage =
  | ({ readonly role: 'system'; readonly content: string } & WithOptions)
  | { readonly role: 'user' | 'assistant' | 'tool'; readonly content: readonly Part[] };

/** What a tool answered. The parts of a `content` are texts, and files in the words of the model's version: see `tool-output.ts`. */
export type ToolOutput =
  | ({ readonly type: 'text' | 'error-text'; readonly value: string } & WithOptions)
  | { readonly type: 'json'; readonly value: JsonValue }
  | { readonly type: 'content'; readonly value: readonly Part[] };

/** `{ providerOptions }`, or nothing where a block has no metadata. */
export function optionsOf(metadata: JsonObject | undefined): WithOptions {
  return metadata === undefined ? {} : { providerOptions: metadata };
}

/** Whom a prompt is for. */
export interface PromptTarget extends Pick<AiSdkLanguageModel, 'specificationVersion' | 'provider'> {
  /** What stands for a compaction of the provider's own; `undefined` for all other blocks. */
  readonly compactedPart?: ((block: OpaqueBlock) => Part | undefined) | undefined;
  /** What its provider takes. */
  readonly rules: ProviderRules;
  /** Ids of the provider's own tools, such as `openai.shell`, by the names that the request has for them. */
  readonly providerTools?: ReadonlyMap<string, string>;
}

/** `openai.responses` → `openai`: the name under which a provider keeps its files and options. */
export function providerFamily(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}
