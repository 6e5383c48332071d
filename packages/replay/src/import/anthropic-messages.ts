import * as z from 'zod';
import { readAnthropicContent } from './anthropic-content.js';
import type { Importer } from './importer.js';

const messageSchema = z.looseObject({
  role: z.enum(['user', 'assistant']),
  content: z.union([z.string(), z.array(z.looseObject({ type: z.string() }))]),
});

/** Messages of Anthropic's Messages API. */
export const anthropicMessages: Importer = {
  format: 'anthropic-messages',
  describes: "messages of Anthropic's Messages API (JSON array or JSONL)",
  recognizes: (value) => {
    const message = messageSchema.safeParse(value).data;
    return (
      Array.isArray(message?.content) &&
      message.content.some(({ type }) => type === 'tool_use' || type === 'tool_result')
    );
  },
  read(values, builder) {
    for (const [index, value] of values.entries()) {
      const message = messageSchema.safeParse(value).data;
      if (message === undefined) {
        builder.unread('message of another shape');
        continue;
      }
      const { blocks, results } = readAnthropicContent(message.content);
      for (const { callId, output, isError } of results) builder.result(callId, output, { isError });
      if (message.role === 'user') builder.user(blocks);
      else builder.assistant(blocks, { answer: `answer-${index}` });
    }
  },
};
