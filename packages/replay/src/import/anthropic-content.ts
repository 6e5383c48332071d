import type { ContentBlock, ToolOutputBlock } from '@x/core';
import * as z from 'zod';
import { asJson, fileAt, inlineFile, outputText, text } from './blocks.js';

const source = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('base64'), media_type: z.string(), data: z.string() }),
  z.looseObject({ type: z.literal('url'), url: z.string() }),
]);

const outputPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), source }),
]);

const block = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('thinking'), thinking: z.string(), signature: z.string().optional() }),
  z.looseObject({ type: z.literal('redacted_thinking') }),
  z.looseObject({ type: z.literal('image'), source }),
  z.looseObject({ type: z.literal('document'), source }),
  z.looseObject({
    type: z.literal('tool_use'),
    id: z.string(),
    name: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({
    type: z.literal('tool_result'),
    tool_use_id: z.string(),
    content: z.union([z.string(), z.array(z.unknown())]).optional(),
    is_error: z.boolean().nullish(),
  }),
]);

/** The result of a call, which this format carries among what the user says. */
export interface ResultPart {
  readonly callId: string;
  readonly output: readonly ToolOutputBlock[];
  readonly isError: boolean;
}

/** `content` of a message of Anthropic's Messages API. Blocks that it does not know are kept as their JSON. */
export function readAnthropicContent(content: unknown): {
  readonly blocks: readonly ContentBlock[];
  readonly results: readonly ResultPart[];
} {
  if (typeof content === 'string') return { blocks: text(content), results: [] };
  const blocks: ContentBlock[] = [];
  const results: ResultPart[] = [];
  for (const value of Array.isArray(content) ? content : []) {
    const parsed = block.safeParse(value).data;
    if (parsed?.type !== 'tool_result') blocks.push(...(parsed ? readBlock(parsed) : outputText(value)));
    else
      results.push({
        callId: parsed.tool_use_id,
        output: readOutput(parsed.content),
        isError: parsed.is_error ?? false,
      });
  }
  return { blocks, results };
}

type Parsed = Exclude<z.output<typeof block>, { type: 'tool_result' }>;

function readBlock(parsed: Parsed): readonly ContentBlock[] {
  switch (parsed.type) {
    case 'text':
      return text(parsed.text);
    case 'thinking': {
      const { thinking, signature } = parsed;
      return [{ type: 'thinking', thinking, ...(signature ? { signature } : {}) }];
    }
    case 'redacted_thinking':
      return [{ type: 'opaque', provider: 'anthropic', data: asJson(parsed) }];
    case 'image':
    case 'document':
      return [readSource(parsed.source, parsed.type === 'image' ? 'image/*' : 'application/pdf')];
    case 'tool_use':
      return [{ type: 'tool_use', id: parsed.id, name: parsed.name, input: asJson(parsed.input ?? {}) }];
  }
}

function readOutput(content: string | readonly unknown[] | undefined): readonly ToolOutputBlock[] {
  if (!Array.isArray(content)) return outputText(content ?? '');
  return content.flatMap((value: unknown): readonly ToolOutputBlock[] => {
    const parsed = outputPart.safeParse(value).data;
    if (parsed === undefined) return outputText(value);
    return parsed.type === 'text' ? text(parsed.text) : [readSource(parsed.source, 'image/*')];
  });
}

function readSource(value: z.output<typeof source>, mediaType: string) {
  return value.type === 'base64' ? inlineFile(value.media_type, value.data) : fileAt(value.url, mediaType);
}
