import * as z from 'zod/mini';
import { isObject, sortedJson } from '../../lib/json.js';
import { type Part, parseInput, readPart } from '../parts.js';
import {
  contentOf,
  contentSchema,
  type ProviderMessage,
  partsOf,
  readResult,
  type WritableDialect,
} from './dialect.js';

const content = z.nullable(contentSchema({ text: ['text'], refusal: ['refusal'] }));
const named = z.looseObject({ name: z.string() });

const call = z.union([
  z.looseObject({ id: z.string(), function: named }),
  z.looseObject({ id: z.string(), type: z.literal('custom'), custom: named }),
]);

/** The messages of OpenAI's Chat Completions API. */
export const openaiChatDialect: WritableDialect = {
  name: 'OpenAI',
  key: 'openai-chat',
  schema: z.discriminatedUnion('role', [
    z.looseObject({ role: z.enum(['system', 'developer', 'user']), content }),
    z.looseObject({
      role: z.literal('assistant'),
      content: z.optional(content),
      tool_calls: z.optional(z.nullable(z.array(call))),
    }),
    z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content }),
  ]),
  parts(source) {
    const {
      role,
      content,
      reasoning_content: thinking,
      tool_calls,
      tool_call_id,
    } = source as ProviderMessage;
    if (role === 'tool') return [{ type: 'tool_result', tool_use_id: tool_call_id, content }];
    if (role !== 'assistant') return partsOf(content);
    const thoughts = typeof thinking === 'string' ? [{ type: 'thinking', thinking }] : [];
    return [...thoughts, ...partsOf(content), ...((tool_calls ?? []) as readonly Part[])];
  },
  read(part) {
    if (part.type === 'tool_result') return readResult(openaiChatDialect, part);
    const called = part.function ?? part.custom;
    if (!isObject(called)) return readPart(part);
    const input = part.function === undefined ? (called.input ?? '') : parseInput(called.arguments);
    return { type: 'tool_use', id: String(part.id), name: String(called.name), input: input as never };
  },
  join(role, parts) {
    const [first] = parts;
    if (first?.type === 'tool_result')
      return parts.map(({ tool_use_id, content }) => ({ role, tool_call_id: tool_use_id, content }));
    const isCall = (part: Part) => 'function' in part || 'custom' in part;
    const calls = parts.filter(isCall);
    const thoughts = parts.flatMap(({ type, thinking }) => (type === 'thinking' ? String(thinking) : []));
    const said = parts.filter((part) => part.type !== 'thinking' && !isCall(part));
    const message = {
      role,
      content: calls.length > 0 && said.length === 0 ? null : contentOf(said),
      ...(thoughts.length > 0 ? { reasoning_content: thoughts.join('\n') } : {}),
      ...(calls.length > 0 ? { tool_calls: calls } : {}),
    };
    return [message];
  },
  write(block, was) {
    if (block.type === 'tool_use') {
      const { id, name, input } = block;
      if (isObject(was?.custom))
        return { ...was, type: 'custom', id, custom: { ...was.custom, name, input } };
      const before = isObject(was?.function) ? was.function : {};
      // Keep the original text if the input is unchanged, even if that text is not valid JSON.
      const isSame = 'arguments' in before && sortedJson(parseInput(before.arguments)) === sortedJson(input);
      const text = isSame ? before.arguments : JSON.stringify(input);
      return { ...was, type: 'function', id, function: { ...before, name, arguments: text } };
    }
    const { source, mediaType } = block;
    if (source.type === 'url') return { type: 'image_url', image_url: { url: source.url } };
    if (source.type !== 'base64') return undefined;
    const data = `data:${mediaType};base64,${source.data}`;
    if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: data } };
    return { type: 'file', file: { file_data: data, filename: block.filename ?? 'file' } };
  },
};
