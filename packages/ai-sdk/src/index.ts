export { isContextOverflow } from '@x/core';

export { prepareStepWith } from './agent/prepare-step-with.js';
export { withOverflowRecovery } from './agent/with-overflow-recovery.js';
export { anthropicCompaction } from './compact/anthropic-compaction.js';
export { openaiCompaction } from './compact/openai-compaction.js';
export type { ProviderCompaction } from './compact/provider-compaction.js';
export { type FromAiSdkOptions, fromAiSdk } from './from-ai-sdk.js';
export type { AiSdkLanguageModel } from './language-model.js';
export type { ResolveFile } from './prompt/resolve-files.js';

export { decisionsIn } from './ui/decisions-in.js';
export { ResumableStreams } from './ui/resumable-streams.js';
export { toUIMessageStream } from './ui/to-ui-message-stream.js';
export type { UIChunk } from './ui/ui-chunk.js';
export { UIMessageStore } from './ui/ui-message-store.js';
