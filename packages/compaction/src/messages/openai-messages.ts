import { isObject, type JsonValue, type Part, parseInput, readPart } from '@x/core';
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

const KEY = 'openai-chat';
const READ: readonly string[] = ['text', 'thinking', 'image_url'];
/** Marks a call whose arguments are a text that is no JSON, and are written as they were. */
const UNPARSED = `${KEY}/unparsed`;

const content = z.nullable(contentSchema({ text: ['text'], refusal: ['refusal'] }));
const named = z.looseObject({ name: z.string() });

const call = z.union([
  z.looseObject({ id: z.string(), function: named }),
  z.looseObject({ id: z.string(), type: z.literal('custom'), custom: named }),
]);

const dialect: Dialect = {
  name: 'OpenAI',
  key: KEY,
  schema: z.discriminatedUnion('role', [
    z.looseObject({ role: z.enum(['system', 'developer', 'user']), content }),
    z.looseObject({
      role: z.literal('assistant'),
      content: z.optional(content),
      tool_calls: z.optional(z.nullable(z.array(call))),
    }),
    z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content }),
  ]),
  fields: [
    ...['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning_content'],
    ...['type', 'text', 'thinking', 'tool_use_id', 'image_url', 'id', 'function'],
  ],
  split({ role, content, reasoning_content: thinking, tool_calls: calls, tool_call_id }) {
    if (role === 'tool') return [{ type: 'tool_result', tool_use_id: tool_call_id, content }];
    const thoughts = typeof thinking === 'string' ? [{ type: 'thinking', thinking }] : [];
    return [...thoughts, ...partsOf(content), ...((calls ?? []) as readonly Part[])];
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
  read(part) {
    type Called = { readonly name: string; readonly arguments?: unknown; readonly input?: JsonValue };
    const called = (part.function ?? part.custom) as Called | undefined;
    if (called === undefined) return READ.includes(part.type) ? readPart(part) : undefined;
    const own = { type: 'tool_use', id: String(part.id), name: called.name } as const;
    if (part.function === undefined) return { ...own, input: called.input ?? '' };
    const text = String(called.arguments ?? '');
    const input = parseInput(text);
    return { ...own, input, ...(input === text ? { providerMetadata: { [UNPARSED]: true } } : {}) };
  },
  write(block) {
    if (block.type === 'tool_use') {
      const { id, name, input, providerMetadata } = block;
      const carried = providerMetadata?.[KEY];
      if (isObject(carried) && 'custom' in carried) return { type: 'custom', id, custom: { name, input } };
      const isRaw = typeof input === 'string' && providerMetadata?.[UNPARSED] === true;
      const text = isRaw ? input : JSON.stringify(input);
      return { type: 'function', id, function: { name, arguments: text } };
    }
    const { source, mediaType } = block;
    if (source.type === 'url') return { type: 'image_url', image_url: { url: source.url } };
    if (source.type !== 'base64') return undefined;
    const data = `data:${mediaType};base64,${source.data}`;
    if (mediaType.startsWith('image/')) return { type: 'image_url', image_url: { url: data } };
    return { type: 'file', file: { file_data: data, filename: block.filename ?? 'file' } };
  },
};

/**
 * Makes an adapter for the messages of OpenAI's Chat Completions API, which most other providers take too.
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
  return new DialectAdapter(dialect);
}
