import { type ContentBlock, isObject, plainJson } from '@x/core';
import * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';
import { importerOf } from './importer.js';
import { readOutput, readPart, readParts, text, textsOf } from './parts.js';

const modelMessage = z.looseObject({
  role: z.enum(['system', 'user', 'assistant', 'tool']),
  content: z.union([z.string(), z.array(z.unknown())]),
});

const toolResult = z.looseObject({
  type: z.literal('tool-result'),
  toolCallId: z.string(),
  output: z.unknown().optional(),
});

const output = z.looseObject({ type: z.string(), value: z.unknown().optional() });

/** `ModelMessage`s of the AI SDK, what `result.response.messages` holds. */
export const aiSdkModelMessages = importerOf({
  format: 'ai-sdk-model-messages',
  describes: 'ModelMessage arrays of the AI SDK (JSON)',
  entry: modelMessage,
  recognizes: (value) => {
    const content = modelMessage.safeParse(value).data?.content;
    return Array.isArray(content) && content.some(isToolPart);
  },
  readEntry({ role, content }, builder, index) {
    const blocks =
      typeof content === 'string' ? text(content) : content.flatMap((part) => readModelPart(part, builder));
    if (role === 'assistant') builder.assistant(blocks, { answer: `answer-${index}` });
    else if (role === 'user') builder.user(blocks);
    else if (role === 'system') builder.system(textsOf(blocks));
  },
});

function isToolPart(part: unknown): boolean {
  return toolResult.safeParse(part).success || (isObject(part) && part.type === 'tool-call');
}

function readModelPart(value: unknown, builder: ConversationBuilder): readonly ContentBlock[] {
  const result = toolResult.safeParse(value).data;
  if (result === undefined) return readParts([value]);
  const wrapped = output.safeParse(result.output).data;
  const isError = wrapped?.type.startsWith('error') ?? false;
  builder.result(result.toolCallId, readOutput(wrapped ? wrapped.value : result.output), { isError });
  return [];
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

function readUiPart(value: unknown, builder: ConversationBuilder): readonly ContentBlock[] {
  const part = uiTool.safeParse(value).data;
  // What only the interface shows, for example data parts and sources, never reached the model.
  if (part === undefined) return readPart(value) ?? [];
  if (part.errorText !== undefined) builder.result(part.toolCallId, text(part.errorText), { isError: true });
  else if (part.state === 'output-available') builder.result(part.toolCallId, readOutput(part.output));
  const name = part.toolName ?? part.type.slice('tool-'.length);
  return [{ type: 'tool_use', id: part.toolCallId, name, input: plainJson(part.input ?? {}) }];
}
