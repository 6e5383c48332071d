import { parseInput, plainJson } from '@x/core';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import type { Importer } from './importer.js';
import { readOutput, readParts, textsOf } from './parts.js';

const textsSchema = z
  .array(z.looseObject({ text: z.string() }))
  .nullish()
  .transform((texts) => (texts ?? []).map(({ text }) => text));
const call = { call_id: z.string() };
const result = z.looseObject({
  type: z.enum(['function_call_output', 'custom_tool_call_output', 'local_shell_call_output']),
  ...call,
  output: z.unknown().optional(),
});

const item = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('message'),
    role: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
  z.looseObject({ type: z.literal('reasoning'), summary: textsSchema, content: textsSchema }),
  z.looseObject({
    type: z.literal('function_call'),
    ...call,
    name: z.string(),
    arguments: z.unknown().optional(),
  }),
  z.looseObject({
    type: z.literal('custom_tool_call'),
    ...call,
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({ type: z.literal('local_shell_call'), ...call, action: z.unknown().optional() }),
  result,
]);

const typed = z.looseObject({ type: z.string() });
/** Outputs are text, parts, or an object with either in `content` and perhaps `success`. */
const wrappedOutput = z.looseObject({ content: z.unknown().optional(), success: z.boolean().nullish() });

/** Items of OpenAI's Responses API: an array of its `input` and `output`, or one item a line. */
export const openaiResponses: Importer = {
  format: 'openai-responses',
  describes: "items of OpenAI's Responses API (JSON array or JSONL)",
  recognizes: (value) => item.safeParse(value).success,
  read(values, builder) {
    for (const value of values) readResponsesItem(value, undefined, builder);
  },
};

/** Adds one item. A message without `type` counts as one, as the API has it. */
export function readResponsesItem(
  value: unknown,
  at: string | undefined,
  builder: ConversationBuilder,
): void {
  const bare = (value as { readonly type?: unknown } | null)?.type === undefined;
  const parsed = item.safeParse(bare ? { ...(value as object), type: 'message' } : value).data;
  if (parsed === undefined) {
    // What the provider did on its own, for example a web search, has no result of ours.
    if (typed.safeParse(value).success)
      builder.assistant([{ type: 'opaque', provider: 'openai', data: plainJson(value) }], { at });
    else builder.unread('item of another shape');
  } else readItem(parsed, at, builder);
}

function readItem(parsed: z.output<typeof item>, at: string | undefined, builder: ConversationBuilder) {
  const called = (id: string, name: string, input: unknown) =>
    builder.assistant([{ type: 'tool_use', id, name, input: parseInput(input) }], { at });
  switch (parsed.type) {
    case 'message': {
      const blocks = readParts(parsed.content);
      if (parsed.role === 'assistant') return builder.assistant(blocks, { at });
      if (parsed.role === 'user') return builder.user(blocks, { at });
      return builder.system(textsOf(blocks));
    }
    case 'reasoning': {
      const thinking = [...parsed.content, ...parsed.summary].join('\n');
      return builder.assistant(thinking === '' ? [] : [{ type: 'thinking', thinking }], { at });
    }
    case 'function_call':
      return called(parsed.call_id, parsed.name, parsed.arguments);
    case 'custom_tool_call':
      return called(parsed.call_id, parsed.name, { input: parsed.input });
    case 'local_shell_call':
      return called(parsed.call_id, 'local_shell', parsed.action);
    default: {
      const wrapped = Array.isArray(parsed.output) ? undefined : wrappedOutput.safeParse(parsed.output).data;
      const output = wrapped === undefined ? readOutput(parsed.output) : readOutput(wrapped.content);
      return builder.result(parsed.call_id, output, { isError: wrapped?.success === false, at });
    }
  }
}
