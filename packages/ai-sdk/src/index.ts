export { isContextOverflow } from '@x/core';
export { fromAiSdk } from './from-ai-sdk.js';
export type { FromAiSdkOptions } from './from-ai-sdk-options.js';
export type { AiSdkLanguageModel } from './language-model.js';
export type { ResolveFile } from './prompt/resolve-files.js';
