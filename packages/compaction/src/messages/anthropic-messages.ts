import { isObject, readPart } from '@x/core';
import * as z from 'zod/mini';
import {
  contentOf,
  contentSchema,
  type Dialect,
  DialectAdapter,
  type MessageAdapter,
  type ProviderMessage,
  partsOf,
} from './adapter.js';

const KEY = 'anthropic-messages';
const READ: readonly string[] = ['text', 'thinking', 'tool_use', 'image', 'document'];

const dialect: Dialect = {
  name: 'Anthropic',
  key: KEY,
  schema: z.looseObject({
    role: z.enum(
      ['user', 'assistant'],
      'must be user or assistant; instructions are `system` of the request',
    ),
    content: contentSchema({
      text: ['text'],
      thinking: ['thinking'],
      tool_use: ['id', 'name'],
      tool_result: ['tool_use_id'],
    }),
  }),
  fields: [
    ...['role', 'content', 'type', 'text', 'thinking', 'signature'],
    ...['id', 'name', 'input', 'tool_use_id', 'is_error', 'source'],
  ],
  split: ({ content }) => partsOf(content),
  join: (role, parts) =>
    role === 'system'
      ? undefined
      : [{ role: role === 'assistant' ? role : 'user', content: contentOf(parts) }],
  read(part) {
    if (!READ.includes(part.type)) return undefined;
    const { type, file_id: id } = isObject(part.source) ? part.source : {};
    if (type === 'file' && typeof id === 'string') {
      const mediaType = part.type === 'image' ? 'image/*' : 'application/pdf';
      return { type: 'file', mediaType, source: { type: 'provider', provider: KEY, id } };
    }
    return type === undefined || type === 'base64' || type === 'url' ? readPart(part) : undefined;
  },
  write(block) {
    if (block.type === 'tool_use')
      return { type: 'tool_use', id: block.id, name: block.name, input: block.input };
    const { mediaType, source } = block;
    const type = mediaType.startsWith('image/') ? 'image' : 'document';
    if (source.type === 'base64')
      return { type, source: { type: 'base64', media_type: mediaType, data: source.data } };
    if (source.type === 'url') return { type, source: { type: 'url', url: source.url } };
    if (source.type !== 'provider' || source.provider !== KEY) return undefined;
    return { type, source: { type: 'file', file_id: source.id } };
  },
};

/**
 * Makes an adapter for the messages of Anthropic's Messages API. Instructions travel as `system` of the request.
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
  return new DialectAdapter(dialect);
}
