import { type Message, textOf, userMessage } from '@x/core';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { createCompactor } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

/** What a user asks for in each of twelve messages: a wish, a constraint and a number. */
const asked = (index: number) =>
  [
    `Please make export ${'abcdefghijkl'[index]} readable for the accountants.`,
    `Do not touch the folder vendor-${index} for it.`,
    `It may take ${index}73 seconds at most.`,
  ] as const;

/** What users paste around their words. */
const pastes: readonly ((index: number) => string)[] = [
  (index) =>
    Array.from(
      { length: 12 },
      (_, line) => `2026-01-0${(line % 9) + 1} INFO worker-${index} job ${line} done`,
    ).join('\n'),
  (index) => `\`\`\`ts\n${lines(14, `const part${index} = compute(values);`)}\n\`\`\``,
  (index) => `<context>\n${lines(14, `row ${index} of the table`)}\n</context>`,
  (index) =>
    `{\n${Array.from({ length: 12 }, (_, line) => `    "key${index}_${line}": ${line},`).join('\n')}\n}`,
];

const noise = fc.record({
  window: fc.constantFrom(4_000, 8_000, 16_000, 32_000),
  hasModel: fc.boolean(),
  paste: fc.nat({ max: pastes.length - 1 }),
  place: fc.nat({ max: 2 }),
  copies: fc.integer({ min: 1, max: 3 }),
});

/** The words with a paste in front of them, between them or behind them. */
function said(index: number, paste: string, place: number): Message {
  const [wish, ...rest] = asked(index);
  const parts = [
    [paste, wish, rest.join(' ')],
    [wish, paste, rest.join(' ')],
    [wish, rest.join(' '), paste],
  ];
  return userMessage((parts[place] ?? []).join('\n'));
}

describe('a wish, a constraint and a number in each of twelve messages', () => {
  it('are in the view after ten compactions, in every window, with a model and without', async () => {
    await fc.assert(
      fc.asyncProperty(noise, async ({ window, hasModel, paste, place, copies }) => {
        const model = hasModel ? modelOf(() => GOOD_SUMMARY) : null;
        const compactor = createCompactor({ contextWindow: window, model });
        let view: readonly Message[] = [];
        let compactions = 0;
        let turn = 0;
        for (; compactions < 10 || turn < 12; turn++) {
          if (turn < 12) {
            const text = Array.from({ length: copies }, () => pastes[paste]?.(turn)).join('\n');
            view = [...view, said(turn, text, place)];
          }
          for (let step = 0; step < 4; step++) {
            view = [
              ...view,
              ...rounds(1, () => ({ output: lines(Math.floor(window / 80)), say: `step ${turn}` })),
            ];
            const outcome = await compactor.compact(view, { reason: 'proactive_budget' });
            if (outcome.status === 'applied') compactions++;
            view = outcome.messages;
          }
          const text = view.map((message) => textOf(message)).join('\n');
          for (let index = 0; index <= Math.min(turn, 11); index++)
            for (const words of asked(index)) expect(text).toContain(words);
        }
      }),
      { numRuns: 24, seed: 7 },
    );
  }, 120_000);
});
