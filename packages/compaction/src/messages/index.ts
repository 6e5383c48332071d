import { anthropicDialect, openaiChatDialect, type ProviderMessage } from '@x/core/messages';
import { DialectAdapter, type MessageAdapter } from './adapter.js';

export type { ProviderMessage } from '@x/core/messages';
export type { MessageAdapter } from './adapter.js';

/**
 * Makes an adapter for the messages of Anthropic's Messages API. Pass the system prompt as `system`, as in the API.
 *
 * @example
 * ```ts
 * const adapter = anthropicMessages<MessageParam>();
 * const outcome = await compactor.compact(adapter.read(messages), { system });
 * messages = adapter.write(outcome.messages);
 * ```
 */
export function anthropicMessages<
  Source extends { readonly role: string } = ProviderMessage,
>(): MessageAdapter<Source> {
  return new DialectAdapter(anthropicDialect);
}

/**
 * Makes an adapter for the messages of OpenAI's Chat Completions API, which most other providers support too.
 *
 * @example
 * ```ts
 * const adapter = openaiMessages<ChatCompletionMessageParam>();
 * const outcome = await compactor.compact(adapter.read(messages));
 * messages = adapter.write(outcome.messages);
 * ```
 */
export function openaiMessages<
  Source extends { readonly role: string } = ProviderMessage,
>(): MessageAdapter<Source> {
  return new DialectAdapter(openaiChatDialect);
}
