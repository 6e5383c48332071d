import { expect, it } from 'vitest';
import { authorInWords } from '../src/terminal/compaction-words.js';

const usage = { inputTokens: 9, outputTokens: 1 };
const step = { messagesBefore: 9, messagesAfter: 3, tokensBefore: 9, tokensAfter: 3, durationMs: 1 };
const by = (author?: 'model' | 'provider' | 'rules') => [
  { ...step, stage: 'mask_outputs' },
  { ...step, stage: 'summarize', author },
];

it.each([
  [by('model'), usage, 'a model wrote the summary'],
  [by('provider'), usage, 'the provider wrote the summary'],
  [by('rules'), undefined, 'rules wrote the summary'],
  [by('rules'), usage, 'rules wrote the summary: the text of the model was not used'],
  [by(), undefined, 'no model was called'],
  [by(), usage, 'a model was called'],
])('the author of a summary follows from its steps, not from what was paid', (steps, paid, words) => {
  expect(authorInWords({ steps, usage: paid })).toBe(words);
});
