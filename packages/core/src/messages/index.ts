// For authors of adapters: how providers and frameworks write messages.
export { aiSdkDialect, aiSdkOutput } from './dialects/ai-sdk.js';
export { anthropicDialect } from './dialects/anthropic.js';
export {
  type Dialect,
  type ProviderMessage,
  partsOf,
  readBlocks,
  type WritableDialect,
  writeMessage,
} from './dialects/dialect.js';
export { openaiChatDialect } from './dialects/openai-chat.js';
export { itemRole, openaiItems } from './dialects/openai-items.js';
