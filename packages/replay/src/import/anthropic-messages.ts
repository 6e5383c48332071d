import * as z from 'zod';
import { readAnthropicContent } from './anthropic-content.js';
import { importerOf } from './importer.js';

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
