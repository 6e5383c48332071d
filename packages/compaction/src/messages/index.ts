export type { MessageAdapter, ProviderMessage } from './adapter.js';
export { anthropicMessages } from './anthropic-messages.js';
export { openaiMessages } from './openai-messages.js';
