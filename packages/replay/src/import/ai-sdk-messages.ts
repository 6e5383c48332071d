import type { ContentBlock, ToolOutputBlock } from '@x/core';
import * as z from 'zod';
import { asJson, fileAt, inlineFile, outputText, text } from './blocks.js';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';

const modelPart = z.discriminatedUnion('type', [
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string() }),
  z.looseObject({ type: z.literal('image'), image: z.string(), mediaType: z.string().optional() }),
  z.looseObject({ type: z.literal('file'), data: z.string(), mediaType: z.string() }),
  z.looseObject({
    type: z.literal('tool-call'),
    toolCallId: z.string(),
    toolName: z.string(),
    input: z.unknown().optional(),
  }),
  z.looseObject({ type: z.literal('tool-result'), toolCallId: z.string(), output: z.unknown().optional() }),
]);

const modelMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.unknown())]),
});

const output = z.looseObject({ type: z.string(), value: z.unknown().optional() });

/** `ModelMessage`s of the AI SDK, what `result.response.messages` holds. */
export const aiSdkModelMessages = importerOf({
  format: 'ai-sdk-model-messages',
  describes: 'ModelMessage arrays of the AI SDK (JSON)',
  entry: modelMessage,
  recognizes: (value) => {
    const content = modelMessage.safeParse(value).data?.content;
    return Array.isArray(content) && content.some((part) => isToolPart(part));
  },
  readEntry({ role, content }, builder, index) {
    const parts = typeof content === 'string' ? [{ type: 'text', text: content }] : content;
    const blocks = parts.flatMap((part) => readModelPart(part, builder));
    if (role === 'assistant') builder.assistant(blocks, { answer: `answer-${index}` });
    else if (role === 'user') builder.user(blocks);
    else if (role === 'system') builder.system(textsOf(blocks));
  },
});

function isToolPart(value: unknown): boolean {
  const type = modelPart.safeParse(value).data?.type;
  return type === 'tool-call' || type === 'tool-result';
}

function readModelPart(value: unknown, builder: ConversationBuilder): readonly ContentBlock[] {
  const part = modelPart.safeParse(value).data;
  if (part === undefined) return outputText(value);
  switch (part.type) {
    case 'text':
      return text(part.text);
    case 'reasoning':
      return [{ type: 'thinking', thinking: part.text }];
    case 'image':
      return [readData(part.image, part.mediaType ?? 'image/*')];
    case 'file':
      return [readData(part.data, part.mediaType)];
    case 'tool-call':
      return [
        { type: 'tool_use', id: part.toolCallId, name: part.toolName, input: asJson(part.input ?? {}) },
      ];
    case 'tool-result': {
      const wrapped = output.safeParse(part.output).data;
      const isError = wrapped?.type.startsWith('error') ?? false;
      builder.result(part.toolCallId, readOutput(wrapped ? wrapped.value : part.output), { isError });
      return [];
    }
  }
}

const uiTool = z.looseObject({
  type: z.string().regex(/^(tool-.+|dynamic-tool)$/),
  toolCallId: z.string(),
  toolName: z.string().optional(),
  state: z.string().optional(),
  input: z.unknown().optional(),
  output: z.unknown().optional(),
  errorText: z.string().optional(),
});

const uiPart = z.union([
  uiTool,
  z.looseObject({ type: z.literal('text'), text: z.string() }),
  z.looseObject({ type: z.literal('reasoning'), text: z.string() }),
  z.looseObject({ type: z.literal('file'), url: z.string(), mediaType: z.string() }),
]);

const uiMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant']),
  parts: z.array(z.looseObject({ type: z.string() })),
});

/** `UIMessage`s of the AI SDK, what `useChat` keeps. Each `step-start` begins another model call. */
export const aiSdkUiMessages = importerOf({
  format: 'ai-sdk-ui-messages',
  describes: 'UIMessage arrays of the AI SDK (JSON)',
  entry: uiMessage,
  readEntry({ role, parts }, builder, index) {
    let step = 0;
    const blocks: ContentBlock[] = [];
    const add = () => {
      if (role === 'assistant') builder.assistant(blocks, { answer: `answer-${index}-${step}` });
      else if (role === 'user') builder.user(blocks);
      else builder.system(textsOf(blocks));
      blocks.length = 0;
    };
    for (const part of parts) {
      if (part.type === 'step-start') {
        add();
        step++;
      } else blocks.push(...readUiPart(part, builder));
    }
    add();
  },
});

function readUiPart(value: { readonly type: string }, builder: ConversationBuilder): readonly ContentBlock[] {
  const part = uiPart.safeParse(value).data;
  // What only the interface shows, for example data parts and sources, never reached the model.
  if (part === undefined) return [];
  if ('toolCallId' in part) return readUiTool(uiTool.parse(part), builder);
  if (part.type === 'file') return [fileAt(String(part.url), String(part.mediaType))];
  const said = String(part.text);
  return part.type === 'reasoning' ? [{ type: 'thinking', thinking: said }] : text(said);
}

function readUiTool(part: z.output<typeof uiTool>, builder: ConversationBuilder): readonly ContentBlock[] {
  if (part.errorText !== undefined) builder.result(part.toolCallId, text(part.errorText), { isError: true });
  else if (part.state === 'output-available') builder.result(part.toolCallId, readOutput(part.output));
  const name = part.toolName ?? part.type.slice('tool-'.length);
  return [{ type: 'tool_use', id: part.toolCallId, name, input: asJson(part.input ?? {}) }];
}

function readOutput(value: unknown): readonly ToolOutputBlock[] {
  if (!Array.isArray(value)) return outputText(value);
  return value.flatMap((element): readonly ToolOutputBlock[] => {
    const part = modelPart.safeParse(element).data;
    if (part?.type === 'text') return text(part.text);
    if (part?.type === 'file') return [readData(part.data, part.mediaType)];
    return outputText(element);
  });
}

function readData(data: string, mediaType: string) {
  return /^(https?|data):/.test(data) ? fileAt(data, mediaType) : inlineFile(mediaType, data);
}

function textsOf(blocks: readonly ContentBlock[]): string {
  return blocks.map((block) => (block.type === 'text' ? block.text : '')).join('\n');
}
