import type { OpaqueBlock } from '@x/core';
import type { AiSdkLanguageModel } from '../language-model.js';
import type { PromptPart } from './prompt.js';

/** Whom a prompt is for. */
export interface PromptTarget extends Pick<AiSdkLanguageModel, 'specificationVersion' | 'provider'> {
  /** What stands for a compaction of the provider's own; `undefined` for all other blocks. */
  readonly compactedPart?: (block: OpaqueBlock) => PromptPart | undefined;
  /** Ids of the provider's own tools, such as `openai.shell`, by the names that the request has for them. */
  readonly providerTools?: ReadonlyMap<string, string>;
}

/** `openai.responses` → `openai`: the name under which a provider keeps its files and options. */
export function providerFamily(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}
