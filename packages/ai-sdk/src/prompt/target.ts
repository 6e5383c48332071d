import type { AiSdkLanguageModel } from '../language-model.js';

/** Whom a prompt is for. */
export type PromptTarget = Pick<AiSdkLanguageModel, 'specificationVersion' | 'provider'>;

/** `openai.responses` → `openai`: the name under which a provider keeps its files and options. */
export function providerFamily(provider: string): string {
  return provider.split('.', 1)[0] ?? provider;
}
