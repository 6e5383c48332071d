import * as z from 'zod/mini';
import { isObject } from '../../lib/json.js';
import { readPart } from '../parts.js';
import {
  contentOf,
  contentSchema,
  type ProviderMessage,
  partsOf,
  readResult,
  type WritableDialect,
} from './dialect.js';

const KEY = 'anthropic-messages';

/** The messages of Anthropic's Messages API. */
export const anthropicDialect: WritableDialect = {
  name: 'Anthropic',
  key: KEY,
  schema: z.looseObject({
    role: z.enum(
      ['user', 'assistant'],
      'must be user or assistant; put instructions in `system` of the request',
    ),
    content: contentSchema({
      text: ['text'],
      thinking: ['thinking'],
      tool_use: ['id', 'name'],
      tool_result: ['tool_use_id'],
    }),
  }),
  parts: (source) => partsOf((source as ProviderMessage).content),
  read(part) {
    if (part.type === 'tool_result') return readResult(anthropicDialect, part);
    // Claude's own compaction replaces everything before it.
    if (part.type === 'compaction' && typeof part.content === 'string')
      return { type: 'text', text: part.content };
    const { type, file_id: id } = isObject(part.source) ? part.source : {};
    if (type === 'file' && typeof id === 'string') {
      const mediaType = part.type === 'image' ? 'image/*' : 'application/pdf';
      return { type: 'file', mediaType, source: { type: 'provider', provider: KEY, id } };
    }
    return type === undefined || type === 'base64' || type === 'url' ? readPart(part) : undefined;
  },
  join: (role, parts) =>
    role === 'system'
      ? undefined
      : [{ role: role === 'assistant' ? role : 'user', content: contentOf(parts) }],
  write(block, was) {
    if (block.type === 'tool_use')
      return { ...was, type: 'tool_use', id: block.id, name: block.name, input: block.input };
    const { mediaType, source } = block;
    const type = mediaType.startsWith('image/') ? 'image' : 'document';
    if (source.type === 'base64')
      return { ...was, type, source: { type: 'base64', media_type: mediaType, data: source.data } };
    if (source.type === 'url') return { ...was, type, source: { type: 'url', url: source.url } };
    if (source.type !== 'provider' || source.provider !== KEY) return undefined;
    return { ...was, type, source: { type: 'file', file_id: source.id } };
  },
};
