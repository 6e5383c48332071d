import { contentBlockSchema } from '@x/core/messages';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { formats } from '../../src/import/import-conversation.js';
import { importConversation, ReplayError } from '../../src/index.js';

const words = [
  ...['user', 'assistant', 'tool', 'system', 'message', 'text', 'thinking', 'image', 'reasoning'],
  ...['tool_use', 'tool_result', 'tool-call', 'tool-result', 'function_call', 'function_call_output'],
  ...['session_meta', 'response_item', ''],
];
const fields = [
  ...['type', 'role', 'content', 'parts', 'message', 'payload', 'text', 'summary', 'source', 'image_url'],
  ...['id', 'name', 'input', 'output', 'tool_use_id', 'tool_calls', 'function', 'custom', 'arguments'],
  ...['call_id', 'toolCallId', 'toolName', 'state', 'reasoning_content', 'providerOptions', 'uuid'],
];
const objectOf = (value: fc.Arbitrary<unknown>) => fc.dictionary(fc.constantFrom(...fields), value);
const word = fc.constantFrom<unknown>(...words);
const part = objectOf(fc.oneof(word, fc.jsonValue({ maxDepth: 2 })));
const free = objectOf(fc.oneof(word, fc.jsonValue({ maxDepth: 2 }), fc.array(part, { maxLength: 3 }), part));
const spoken = fc.record(
  {
    role: fc.constantFrom('user', 'assistant', 'tool', 'system'),
    content: fc.oneof(fc.string(), fc.array(part, { maxLength: 3 })),
  },
  { requiredKeys: [] },
);
const entry = fc.tuple(free, spoken).map((both): object => Object.assign({}, ...both));

it('reads any log in any format as sound messages, or says what is wrong with it', () => {
  const format = fc.constantFrom(undefined, ...formats.map((known) => known.format));
  fc.assert(
    fc.property(fc.array(entry, { minLength: 1, maxLength: 4 }), format, (entries, named) => {
      const source = entries.map((one) => JSON.stringify(one)).join('\n');
      try {
        const { messages } = importConversation(source, named === undefined ? {} : { format: named });
        for (const block of messages.flatMap(({ content }) => content))
          expect(contentBlockSchema.safeParse(block).error).toBeUndefined();
      } catch (error) {
        if (!ReplayError.isInstance(error)) throw error;
      }
    }),
    { numRuns: 1_000 },
  );
});
