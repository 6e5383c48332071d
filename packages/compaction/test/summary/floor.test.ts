import { assistantMessage, type Message, textOf, toolResultsOf, userMessage } from '@x/core';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, type CompactionSettings, createCompactor } from '../../src/index.js';
import { meter, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf } from '../models.js';

/** The newest messages that were left as they are. */
function kept(before: readonly Message[], after: readonly Message[]): number {
  const stayed = new Set(after);
  return before.length - 1 - before.findLastIndex((message) => !stayed.has(message));
}

/** Eight rounds of work, each of them a share of a window, behind others that fill 87 % of it together. */
function reads(window: number, share: number): Message[] {
  const output = (size: number) => 'const value = compute(7);\n'.repeat(Math.round(size / 7));
  const newest = rounds(8, () => ({ output: output(window * share) }));
  const left = window * 0.87 - meter.messages(newest);
  const older = rounds(10, () => ({ output: output(left / 10 - 60) }));
  return [userMessage('Read them all.'), ...older, ...newest];
}

describe('what the user names to keep', { timeout: 60_000 }, () => {
  it.each<[number, CompactionConfig, number]>(
    [16_000, 32_000, 64_000, 128_000].flatMap((window) => [
      [window, { preset: 'aura' }, 10],
      [window, { preset: 'aura', keepLastMessages: 14 }, 14],
      [
        window,
        { preset: 'everruns', strategy: 'summarization', memoryTiers: { hotMessages: 14, warmMessages: 0 } },
        14,
      ],
      [
        window,
        { preset: 'everruns', strategy: 'summarization', infinityContext: { minRecentMessages: 12 } },
        12,
      ],
      [window, { keep: { messages: 14 } }, 14],
    ]),
  )('stays, also where it fills more than half of a window of %i: %j', async (window, config, count) => {
    const messages = reads(window, 0.075);
    expect(meter.messages(messages)).toBeGreaterThan(window * 0.85);
    for (const model of [null, modelOf(() => GOOD_SUMMARY)]) {
      const outcome = await createCompactor({ ...config, model, contextWindow: window }).compact(messages, {
        reason: 'proactive_budget',
      });
      expect(outcome.status).toBe('applied');
      expect(outcome.tokensAfter).toBeLessThanOrEqual(window * 0.9);
      expect(kept(messages, outcome.messages)).toBeGreaterThanOrEqual(count);
    }
  });

  it.each<[string, CompactionSettings['keep']]>([
    ['tokens', { tokens: 20_000 }],
    ['a share', { share: 20_000 / 27_200 }],
    ['the larger of two', { messages: 2, tokens: 20_000 }],
  ])('stays when it is %s', async (_, keep) => {
    const messages = reads(32_000, 0.05);
    const outcome = await createCompactor({ keep, model: null, contextWindow: 32_000 }).compact(messages, {
      reason: 'proactive_budget',
    });
    const tail = messages.slice(-kept(messages, outcome.messages));
    expect(outcome.status).toBe('applied');
    expect(meter.messages(tail)).toBeGreaterThan(18_000);
    expect(meter.messages(tail)).toBeLessThanOrEqual(20_000);
  });

  it('stays in tool outputs, masked or summarized', async () => {
    const messages = reads(32_000, 0.03);
    for (const strategy of ['auto', 'observation_masking'] as const) {
      const observationMasking = { keepRecentToolOutputs: 8 };
      const compactor = createCompactor({
        preset: 'everruns',
        strategy,
        observationMasking,
        memoryTiers: { hotMessages: 4, warmMessages: 6 },
        model: null,
        contextWindow: 32_000,
      });
      const outcome = await compactor.compact(messages, { reason: 'manual' });
      expect(outcome.steps.map(({ stage }) => stage)).toContain('summarize');
      const whole = new Set(messages.filter((message) => toolResultsOf(message).length > 0).slice(-8));
      expect(outcome.messages.filter((message) => whole.has(message))).toHaveLength(8);
    }
  });

  it('does not hold a chat together whose last tool output is long ago', async () => {
    const chat = Array.from({ length: 60 }, (_, index) => [
      userMessage(`question ${index}`),
      assistantMessage(`answer ${index} ${'because '.repeat(40)}`),
    ]).flat();
    const messages = [...rounds(5), ...chat];
    const compactor = createCompactor({ keep: { outputs: 5 }, model: null, contextWindow: 20_000 });
    const outcome = await compactor.compact(messages);
    expect(outcome.status).toBe('applied');
    expect(outcome.messagesAfter).toBeLessThan(100);
  });

  it.each([200, 2_000])(
    'stays where the record has nothing to say of %i characters a message',
    async (size) => {
      const messages = Array.from({ length: (4_000 / size) * 50 }, (_, index) => [
        userMessage(`Message ${index}: ${'x'.repeat(size)}`),
        assistantMessage(`Answer ${index}: ${'x'.repeat(size)}`),
      ]).flat();
      const compactor = createCompactor({ keep: { messages: 4 }, model: null, contextWindow: 8_000 });
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
      expect(outcome.tokensAfter).toBeLessThanOrEqual(7_200);
      expect(kept(messages, outcome.messages)).toBeGreaterThanOrEqual(4);
    },
  );

  it('yields to what may be sent, and the step says how much stayed', async () => {
    const messages = reads(16_000, 0.045).concat(rounds(3, () => ({ output: 'word '.repeat(300) })));
    const compactor = createCompactor({ keep: { messages: 60 }, model: null, contextWindow: 16_000 });
    const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(outcome).toMatchObject({ status: 'applied' });
    expect(outcome.tokensAfter).toBeLessThanOrEqual(14_400);
    const note = outcome.steps.find(({ stage }) => stage === 'summarize')?.note;
    expect(note).toBe(
      `kept only the newest ${kept(messages, outcome.messages)} of the ${messages.length} messages that \`keep\` requires, because a request may have at most 14400 tokens`,
    );
  });
});

describe('a trigger that counts messages', () => {
  it.each([
    [10, { preset: 'agentscope', triggerMessages: 30, keepMessages: 10 }],
    [8, { preset: 'agentscope', triggerMessages: 10, keepMessages: 8 }],
    [10, { trigger: { messages: 30 }, keep: { messages: 10 } }],
    [10, { trigger: { messages: 30 }, keep: { messages: 10 }, saving: false }],
  ] satisfies [number, CompactionConfig][])(
    'leaves %i messages, however short they are: %j',
    async (count, config) => {
      for (const words of [5, 20, 100]) {
        for (const model of [null, modelOf(() => GOOD_SUMMARY)]) {
          const messages = Array.from({ length: 30 }, (_, index) =>
            index % 2
              ? assistantMessage(`answer ${index}${` word${index}`.repeat(words)}`)
              : userMessage(`question ${index}${` term${index}`.repeat(words)}`),
          );
          const compactor = createCompactor({ ...config, model, contextWindow: 200_000 });
          const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
          const at = outcome.messages.findIndex(({ kind }) => kind === 'summary');
          expect(outcome.status).toBe('applied');
          expect(outcome.messagesAfter - 1 - at).toBe(count);
          expect(textOf(outcome.messages[0] as Message)).toContain('question 0');
          expect(model?.requests.length ?? 1).toBe(1);
        }
      }
    },
  );

  it('pays for about as many summaries as the numbers say', async () => {
    for (const [trigger, keep] of [
      [30, 10],
      [12, 4],
      [50, 20],
    ] as const) {
      for (const words of [5, 60]) {
        const model = modelOf(() => GOOD_SUMMARY);
        const compactor = createCompactor({
          preset: 'agentscope',
          triggerMessages: trigger,
          keepMessages: keep,
          model,
          contextWindow: 200_000,
        });
        let context: readonly Message[] = [];
        for (let turn = 0; turn < 60; turn++) {
          context = [...context, userMessage(`question ${turn} ${'word '.repeat(words)}`)];
          context = (await compactor.compact(context, { reason: 'proactive_budget' })).messages;
          context = [...context, assistantMessage('answer '.repeat(words))];
        }
        const expected = (120 - keep) / (trigger - keep - 1);
        expect(model.requests.length).toBeLessThanOrEqual(Math.ceil(expected * 1.35));
      }
    }
  });
});
