import { assistantMessage, ContextOverflowError, type Message, textOf, userMessage } from '@x/core';
import { assertAccounted, assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, compaction, createCompactor } from '../../src/index.js';
import { previewArgs } from '../../src/stages/preview-args.js';
import { lines, meter, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';
import { scopeOf } from '../scope.js';

/** Defects that compactors in the field have had, and that have no test of their own elsewhere. */
describe('a compactor', () => {
  it('prunes proactively with no model at all', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(10, () => ({ name: 'write', input: { path: 'a', content: lines(400) } })),
      assistantMessage('next'),
    ];
    const compactor = createCompactor({
      contextWindow: 10_000,
      stages: [previewArgs({ mode: 'compaction', protectPercent: 0.1 }), 'summarize', 'drop_oldest'],
    });
    const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(outcome.status).toBe('applied');
    expect(outcome.steps.map((step) => step.stage)).toContain('preview_args');
    expect(outcome.tokensAfter).toBeLessThan(8_500);
  });

  it('judges by tokens: as many messages, but fewer tokens, is a success', async () => {
    const messages = [...rounds(12, () => ({ output: lines(500) })), assistantMessage('ok')];
    const outcome = await createCompactor({ stages: ['mask_outputs', 'drop_oldest'] }).compact(messages);
    expect(outcome).toMatchObject({ status: 'applied', messagesBefore: 25, messagesAfter: 25 });
  });

  it('summarizes proactively, not only after an overflow', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const messages = [userMessage('go'), ...rounds(40, () => ({ say: 'word '.repeat(150) }))];
    await createCompactor({ model, contextWindow: 8_000 }).compact(messages, { reason: 'proactive_budget' });
    expect(model.requests).toHaveLength(1);
  });

  it('stops after masking when that makes room after an overflow: nothing else is cut', async () => {
    const messages = [
      userMessage('go'),
      ...rounds(20, () => ({ output: lines(2_000) })),
      assistantMessage('ok'),
    ];
    const model = modelOf(() => GOOD_SUMMARY);
    const contextWindow = Math.floor(meter.messages(messages) * 0.9);
    const stages = ['mask_outputs', 'summarize', 'drop_oldest'] as const;
    const compactor = createCompactor({ model, contextWindow, stages: [...stages] });
    const outcome = await compactor.compact(messages, { reason: 'request_too_large' });
    expect(model.requests).toEqual([]);
    expect(outcome.steps.at(-1)?.stage).toBe('mask_outputs');
    expect(outcome.messagesAfter).toBe(messages.length);
  });

  it('stores a summary that it wrote after an overflow before it calls the model again', async () => {
    const request = userMessage('go');
    const scope = scopeOf([request, ...rounds(20, () => ({ say: 'word '.repeat(150) }))]);
    const capability = compaction({ model: modelOf(() => GOOD_SUMMARY) });
    const stored: number[] = [];
    await capability.aroundReason?.(scope, async () => {
      stored.push(scope.checkpoints);
      if (stored.length === 1) throw new ContextOverflowError();
      expect(scope.state.context.slice(0, 2)).toMatchObject([request, { kind: 'summary' }]);
      return { content: [], finishReason: 'stop' };
    });
    expect(stored).toEqual([0, 1]);
  });

  it('accounts, over a chain, for messages that an earlier compaction kept', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const compactor = createCompactor({ model, stages: ['summarize', 'drop_oldest'], keep: { messages: 4 } });
    const turns = (from: number) =>
      [from, from + 1, from + 2].flatMap((turn) => [
        userMessage(`question ${turn} ${'why '.repeat(60)}`),
        assistantMessage(`answer ${turn} ${'because '.repeat(60)}`),
      ]);
    let context: readonly Message[] = turns(1);
    for (const from of [4, 7]) {
      const before = [...context, ...turns(from)];
      const outcome = await compactor.compact(before);
      assertAccounted(before, outcome);
      context = outcome.messages;
    }
    const told = model.requests.map(promptOf).join('\n');
    const seen = `${told}\n${context.map(textOf).join('\n')}`;
    for (let turn = 1; turn <= 9; turn++)
      expect(seen).toMatch(new RegExp(`question ${turn} .*answer ${turn} `, 's'));
    expect(model.requests).toHaveLength(2);
    expect(promptOf(model.requests[1])).toContain('Read the code, found the cause.');
  });

  it('never asks for a summary of nothing', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const compactor = createCompactor({ model, stages: ['summarize', 'drop_oldest'] });
    const once = await compactor.compact([userMessage('hi'), ...rounds(15, () => ({ output: lines(30) }))]);
    const again = await compactor.compact(once.messages.filter(({ kind }) => kind === 'summary'));
    expect(again).toMatchObject({ status: 'ineffective', messagesBefore: 1 });
    expect((await compactor.compact([])).status).toBe('skipped');
    expect(model.requests).toHaveLength(1);
  });

  it('calls its hooks only when something is due', async () => {
    let calls = 0;
    const capability = compaction({ model: null, beforeCompaction: () => void calls++ });
    const scope = scopeOf(rounds(3));
    for (let step = 0; step < 5; step++) {
      await capability.aroundReason?.(scope, async () => ({ content: [], finishReason: 'stop' }));
    }
    expect(calls).toBe(0);
  });

  it.each<CompactionConfig>([
    {},
    { keep: { tokens: 5_000 } },
    { keep: { messages: 49 } },
    { keep: { share: 0.8 } },
    { target: 0.85 },
    { summary: { record: 0.6 } },
    { keep: { messages: 49 }, trigger: { messages: 50 } },
    { trigger: { messages: 16 } },
    { stages: ['mask_outputs', 'drop_oldest'] },
  ])('is not due again at once, whatever is kept: no thrashing: %j', async (config) => {
    const compactor = createCompactor({ contextWindow: 8_000, ...config });
    let context: readonly Message[] = [userMessage('go')];
    const applied: number[] = [];
    for (let step = 0; step < 200; step++) {
      context = [...context, ...round({ output: lines(40) })];
      const outcome = await compactor.compact(context, { reason: 'proactive_budget' });
      assertPaired(outcome.messages);
      expect(outcome.tokensAfter).toBeLessThanOrEqual(8_000);
      if (outcome.status === 'applied') applied.push(step);
      context = outcome.messages;
    }
    const pauses = applied.slice(1).map((step, index) => step - (applied[index] as number));
    expect(pauses.length).toBeGreaterThan(2);
    expect(Math.min(...pauses), `${applied}`).toBeGreaterThan(1);
  });
});
