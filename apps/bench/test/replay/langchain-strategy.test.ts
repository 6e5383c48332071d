import { assistantMessage, type Message, textOf, toolResultMessage, userMessage } from '@x/core';
import { pairingViolations } from '@x/replay/internal';
import { expect, it } from 'vitest';
import { extractiveSummary } from '../../src/replay/extractive-summary.js';
import { langchainStrategy } from '../../src/replay/langchain-strategy.js';

const counter = { name: 'letters', count: (text: string) => text.length };
const setting = { window: 4_000, trigger: 2_500, counter, system: '', overhead: 500 };
const strategy = langchainStrategy({ keepMessages: 4, summaryShare: 0.08 });

function rounds(count: number): readonly Message[] {
  const messages = [userMessage('go')];
  for (let round = 0; round < count; round++) {
    const call = { id: `c${round}`, name: 'look' };
    messages.push(
      assistantMessage([{ type: 'tool_use', ...call, input: { round } }]),
      toolResultMessage(call, `src/file-${round}.ts ${'x'.repeat(100)}`),
    );
  }
  return messages;
}

it('waits for the trigger, the overhead included', async () => {
  expect(await strategy(setting)(rounds(5))).toBeUndefined();
});

it('puts a summary before what LangChain keeps, the same objects as before', async () => {
  const messages = rounds(20);
  const reduced = await strategy(setting)(messages);
  const [summary, ...kept] = reduced?.messages ?? [];
  expect(summary?.kind).toBe('summary');
  expect(textOf(summary as Message)).toMatch(/src\/file-\d+\.ts/);
  expect(kept).toHaveLength(4);
  kept.forEach((message, index) => {
    expect(message).toBe(messages.at(index - 4));
  });
  expect(pairingViolations(kept)).toBe(0);
  expect(reduced?.manifest).toHaveLength(messages.length - 4);
  expect(reduced?.summarizerTokens).toBeGreaterThan(0);
});

it('has it summarize its own summary again', async () => {
  const reduce = strategy(setting);
  const first = await reduce(rounds(20));
  const second = await reduce([...(first?.messages ?? []), ...rounds(20).slice(1)]);
  expect(second?.messages).toHaveLength(5);
  expect(second?.messages.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
});

it('stands in for a model by naming what a text names most often', () => {
  const text = 'see src/b.ts, then src/a.ts; src/a.ts calls openFile twice';
  expect(extractiveSummary(text, 1_000, counter)).toBe('src/a.ts src/b.ts openFile');
  expect(extractiveSummary(text, 10, counter)).toBe('src/a.ts');
  expect(extractiveSummary('nothing here', 10, counter)).toBe('Nothing with a name.');
});
