import { type ContentBlock, isObject, type ToolOutputBlock } from '@x/core';
import * as z from 'zod';
import { importerOf } from './importer.js';
import { readOutput, readParts } from './parts.js';

/** The result of a call, which this format carries among what the user says. */
export interface ResultPart {
  readonly callId: string;
  readonly output: readonly ToolOutputBlock[];
  readonly isError: boolean;
}

/** `content` of a message of Anthropic's Messages API. */
export function readAnthropicContent(content: unknown): {
  readonly blocks: readonly ContentBlock[];
  readonly results: readonly ResultPart[];
} {
  if (!Array.isArray(content)) return { blocks: readParts(content), results: [] };
  const results = content.filter(isResult);
  return {
    blocks: readParts(content.filter((part) => !isResult(part))),
    results: results.map(({ tool_use_id: callId, content: output, is_error }) => {
      return { callId, output: readOutput(output ?? ''), isError: is_error === true };
    }),
  };
}

function isResult(part: unknown): part is { tool_use_id: string; content?: unknown; is_error?: unknown } {
  return isObject(part) && part.type === 'tool_result' && typeof part.tool_use_id === 'string';
}

const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
});

/** Messages of Anthropic's Messages API. */
export const anthropicMessages = importerOf({
  format: 'anthropic-messages',
  describes: "messages of Anthropic's Messages API (JSON array or JSONL)",
  entry: messageSchema,
  recognizes: (value) => {
    const message = messageSchema.safeParse(value).data;
    return (
      Array.isArray(message?.content) &&
      message.content.some(({ type }) => type === 'tool_use' || type === 'tool_result')
    );
  },
  readEntry({ role, content }, builder, index) {
    const { blocks, results } = readAnthropicContent(content);
    for (const { callId, output, isError } of results) builder.result(callId, output, { isError });
    if (role === 'user') builder.user(blocks);
    else builder.assistant(blocks, { answer: `answer-${index}` });
  },
});
