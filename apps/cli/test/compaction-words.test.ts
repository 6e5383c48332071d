import type { KeptEvent } from '@x/harness/view';
import { expect, it } from 'vitest';
import { authorInWords, compactionLines, undoInWords } from '../src/terminal/compaction-words.js';

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

it.each([
  [16_480, 'The window is 103 % full: the next message compacts first.'],
  [
    15_200,
    'The window is 95 % full: no compaction runs until the request has grown by 5 % or exceeds the window.',
  ],
])('an undo names what it took back, and how full the window is: %i tokens', (total, words) => {
  const compacted = (messagesBefore: number, messagesAfter: number, tokensBefore: number) => ({
    type: 'context.compacted',
    status: 'applied',
    reason: 'proactive_budget',
    steps: by('rules'),
    messagesBefore,
    messagesAfter,
    tokensBefore,
    tokensAfter: 5_000,
  });
  const before = [compacted(20, 4, 14_000), compacted(30, 4, 15_000), compacted(8, 8, 6_000)];
  const context = { total, contextWindow: 16_000 };
  // The estimate of the compaction differs from that of the window.
  const restored = { type: 'context.restored', tokensAfter: 20_000, context };
  const eventsOf = (events: readonly object[]) => events as unknown as readonly KeptEvent[];
  expect(undoInWords(compactionLines(eventsOf(before)), eventsOf([...before, restored]))).toBe(
    [
      'The compaction was undone. /compact compacts again.',
      '- The window was nearly full: 30 → 4 messages · 5k tokens sent instead of 15k · rules wrote the summary (undone)',
      '- The window was nearly full: 5k tokens sent instead of 6k · rules wrote the summary (undone)',
      words,
    ].join('\n'),
  );
});
