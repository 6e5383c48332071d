export { isContextOverflow } from '@x/core';
export { anthropicCompaction } from './compact/anthropic-compaction.js';
export { type OpenaiCompaction, openaiCompaction } from './compact/openai-compaction.js';
export type { ProviderCompaction } from './compact/provider-compaction.js';
export { fromAiSdk } from './from-ai-sdk.js';
export type { FromAiSdkOptions } from './from-ai-sdk-options.js';
export type { AiSdkLanguageModel } from './language-model.js';
export type { ResolveFile } from './prompt/resolve-files.js';
