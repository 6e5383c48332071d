import type { ContentBlock, ToolOutputBlock } from '@x/core';
import * as z from 'zod';
import { asJson, fileAt, outputText, parseArguments, text } from './blocks.js';
import type { ConversationBuilder } from './conversation-builder.js';
import type { Importer } from './importer.js';

const part = z.union([
  z.looseObject({ type: z.enum(['input_text', 'output_text', 'text', 'refusal']), text: z.string() }),
  z.looseObject({ type: z.literal('input_image'), image_url: z.string() }),
]);

const callId = z.string();

const item = z.discriminatedUnion('type', [
  z.looseObject({
    type: z.literal('message'),
    role: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]),
  }),
  z.looseObject({
    type: z.literal('reasoning'),
    summary: z.array(z.looseObject({ text: z.string() })).default([]),
    content: z.array(z.looseObject({ text: z.string() })).nullish(),
  }),
  z.looseObject({
    type: z.literal('function_call'),
    call_id: callId,
    name: z.string(),
    arguments: z.unknown().optional(),
  }),
  z.looseObject({
    type: z.literal('custom_tool_call'),
    call_id: callId,
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({ type: z.literal('local_shell_call'), call_id: callId, action: z.unknown().optional() }),
  z.looseObject({ type: z.literal('function_call_output'), call_id: callId, output: z.unknown().optional() }),
  z.looseObject({
    type: z.literal('custom_tool_call_output'),
    call_id: callId,
    output: z.unknown().optional(),
  }),
  z.looseObject({
    type: z.literal('local_shell_call_output'),
    call_id: callId,
    output: z.unknown().optional(),
  }),
]);

type Item = z.output<typeof item>;

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
  const parsed = item.safeParse(value).data ?? message.safeParse(value).data;
  if (parsed === undefined) {
    // What the provider did on its own, for example a web search, has no result of ours.
    if (typed.safeParse(value).success)
      builder.assistant([{ type: 'opaque', provider: 'openai', data: asJson(value) }], { at });
    else builder.unread('item of another shape');
    return;
  }
  readItem(parsed, at, builder);
}

const typed = z.looseObject({ type: z.string() });
const message = z
  .looseObject({
    type: z.undefined().optional(),
    role: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]),
  })
  .transform((value) => ({ ...value, type: 'message' as const }));

function readItem(parsed: Item, at: string | undefined, builder: ConversationBuilder): void {
  switch (parsed.type) {
    case 'message': {
      const blocks = readParts(parsed.content);
      if (parsed.role === 'assistant') builder.assistant(blocks, { at });
      else if (parsed.role === 'user') builder.user(blocks, { at });
      else builder.system(blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n'));
      return;
    }
    case 'reasoning': {
      const thinking = [...(parsed.content ?? []), ...parsed.summary]
        .map(({ text: line }) => line)
        .join('\n');
      if (thinking !== '') builder.assistant([{ type: 'thinking', thinking }], { at });
      return;
    }
    case 'function_call':
      call(parsed.call_id, parsed.name, parsed.arguments);
      return;
    case 'custom_tool_call':
      call(parsed.call_id, parsed.name, { input: parsed.input });
      return;
    case 'local_shell_call':
      call(parsed.call_id, 'local_shell', parsed.action);
      return;
    default:
      builder.result(parsed.call_id, ...readOutput(parsed.output, at));
  }

  function call(id: string, name: string, input: unknown): void {
    builder.assistant([{ type: 'tool_use', id, name, input: parseArguments(input) }], { at });
  }
}

/** Outputs are text, parts, or an object with either in `content` and perhaps `success`. */
function readOutput(
  output: unknown,
  at: string | undefined,
): readonly [readonly ToolOutputBlock[], { readonly isError: boolean; readonly at: string | undefined }] {
  if (Array.isArray(output)) return [readParts(output), { isError: false, at }];
  const wrapped = z
    .looseObject({ content: z.unknown().optional(), success: z.boolean().nullish() })
    .safeParse(output).data;
  if (wrapped === undefined) return [outputText(output), { isError: false, at }];
  const blocks = Array.isArray(wrapped.content) ? readParts(wrapped.content) : outputText(wrapped.content);
  return [blocks, { isError: wrapped.success === false, at }];
}

function readParts(content: string | readonly unknown[]): readonly Extract<ContentBlock, ToolOutputBlock>[] {
  if (typeof content === 'string') return text(content);
  return content.flatMap((value): readonly ToolOutputBlock[] => {
    const parsed = part.safeParse(value).data;
    if (parsed === undefined) return outputText(value);
    return parsed.type === 'input_image'
      ? [fileAt(String(parsed.image_url), 'image/*')]
      : text(String(parsed.text));
  });
}
