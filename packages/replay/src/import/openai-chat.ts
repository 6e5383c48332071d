import { parseInput } from '@x/core';
import * as z from 'zod';
import { importerOf } from './importer.js';
import { readOutput, readParts, textsOf } from './parts.js';

const call = z.looseObject({
  id: z.string(),
  function: z.looseObject({ name: z.string(), arguments: z.unknown().optional() }),
});

const content = z.union([z.string(), z.null(), z.array(z.unknown())]).optional();

const messageSchema = z.discriminatedUnion('role', [
  z.looseObject({ role: z.enum(['system', 'developer', 'user']), content }),
  z.looseObject({
    role: z.literal('assistant'),
    content,
    reasoning_content: z.string().nullish(),
    tool_calls: z.array(call).nullish(),
  }),
  z.looseObject({ role: z.literal('tool'), tool_call_id: z.string(), content }),
]);

/** Messages of OpenAI's Chat Completions API, which most other providers take too. */
export const openaiChat = importerOf({
  format: 'openai-chat',
  describes: 'messages of the Chat Completions API (JSON array or JSONL)',
  entry: messageSchema,
  readEntry(message, builder, index) {
    const said = readParts(message.content);
    switch (message.role) {
      case 'user':
        return builder.user(said);
      case 'assistant': {
        const { reasoning_content: thinking, tool_calls: calls } = message;
        const blocks = [
          ...(thinking ? [{ type: 'thinking' as const, thinking }] : []),
          ...said,
          ...(calls ?? []).map(({ id, function: { name, arguments: input } }) => {
            return { type: 'tool_use' as const, id, name, input: parseInput(input) };
          }),
        ];
        // Answers that follow each other are two here: the format has one message for each.
        return builder.assistant(blocks, { answer: `answer-${index}` });
      }
      case 'tool':
        return builder.result(message.tool_call_id, readOutput(message.content ?? ''));
      default:
        builder.system(textsOf(said));
    }
  },
});
