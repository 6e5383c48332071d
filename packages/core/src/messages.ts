// For authors of adapters: functions that convert messages of other libraries to ours and back.
export { classifyModelError, type ModelErrorFacts, modelErrorFacts } from './errors/classify-model-error.js';
export type { ModelErrorKind } from './errors/model-error.js';
export { admitMessages, checkMessages } from './messages/check-messages.js';
export type { FileSource } from './messages/content-block.js';
export { aiSdkDialect, aiSdkOutput } from './messages/dialects/ai-sdk.js';
export { anthropicDialect } from './messages/dialects/anthropic.js';
export {
  type Dialect,
  type ProviderMessage,
  partsOf,
  readBlocks,
  type WritableDialect,
  writeMessage,
} from './messages/dialects/dialect.js';
export { geminiDialect } from './messages/dialects/gemini.js';
export { openaiChatDialect } from './messages/dialects/openai-chat.js';
export { itemRole, openaiItems } from './messages/dialects/openai-items.js';
export { type MessageOptions, type Role, toolResultBlock } from './messages/message.js';
export { blockBytes, messageBytes } from './messages/message-bytes.js';
export { contentBlockSchema } from './messages/message-schemas.js';
export { type MessageGroup, pairingOf } from './messages/pairing.js';
export {
  madeFrom,
  opaquePart,
  originOf,
  type Part,
  parseInput,
  partsFrom,
  plainJson,
  readOutput,
  readPart,
} from './messages/parts.js';
export { sendable } from './messages/sendable.js';
export { type SetAsideExtent, setAside } from './messages/set-aside.js';
export { compileSchema } from './model/compile-schema.js';
export type {
  FileRole,
  NativeCompaction,
  NativeCompactionRequest,
  ResponseFormat,
  ToolChoice,
  ToolDefinition,
} from './model/model.js';
export { countBlock, countMessage, countMessages, countRequest, countTool } from './tokens/count-tokens.js';
