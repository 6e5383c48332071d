import {
  assistantMessage,
  type Message,
  type ToolUseBlock,
  textOf,
  toolResultMessage,
  toolResultsOf,
  userMessage,
} from '@x/core';
import { atOnce } from '@x/core/internal';
import { assertAccounted, assertPaired } from '@x/test-support';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type CompactionConfig, compaction, createCompactor, cutUnseen } from '../../src/index.js';
import { cutMessage } from '../../src/stages/cut-unseen.js';
import { at, lines, meter, reduceWith, rounds } from '../build.js';
import { modelOf } from '../models.js';
import { scopeOf } from '../scope.js';

/** One step of the model: so many calls, each with its result, which no model has seen. */
function batch(outputs: readonly string[], name = 'fetch_page'): Message[] {
  const calls = outputs.map(
    (_, index): ToolUseBlock => ({ type: 'tool_use', id: `unseen${index}`, name, input: { index } }),
  );
  return [
    assistantMessage(calls),
    ...calls.map((call, index) => toolResultMessage(call, outputs[index] ?? '')),
  ];
}
const words = (tokens: number, word = 'word') => `${word} `.repeat(tokens);
const outputsOf = (messages: readonly Message[]) =>
  messages.flatMap(toolResultsOf).filter(({ toolUseId }) => toolUseId.startsWith('unseen'));

describe('results that no model has seen', () => {
  it('all arrive when they are over the trigger and fit the window', async () => {
    const messages = [
      userMessage('Review these files'),
      ...rounds(12),
      ...batch(Array.from({ length: 12 }, () => lines(2_600))),
    ];
    const configs: readonly CompactionConfig[] = [
      {},
      { trigger: { tokens: 80_000 } },
      { trigger: { messages: 10 }, keep: { messages: 4 } },
      { trigger: { tokens: 20_000 }, stages: ['mask_outputs', 'drop_oldest'] },
    ];
    for (const config of configs) {
      const compactor = createCompactor({ ...config, contextWindow: 200_000 });
      const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
      expect(outputsOf(outcome.messages)).toEqual(outputsOf(messages));
    }
  });

  it('do not begin like JSON when they were cut', async () => {
    const rows = JSON.stringify(Array.from({ length: 20_000 }, (_, id) => ({ id, name: `name ${id}` })));
    const outcome = await createCompactor({ contextWindow: 32_000 }).compact(
      [userMessage('Load it'), ...batch([rows])],
      { reason: 'proactive_budget' },
    );
    const text = textOf([at(outputsOf(outcome.messages), 0)]);
    expect(text).toMatch(/^Parts of a result:\n\[\{"id":0,/);
    expect(text).toMatch(/characters are left out/);
  });

  it('are cut where one alone is larger than the window: its ends stay, and the small neighbors whole', async () => {
    const huge = `BEGIN ${lines(200_000)} END`;
    const messages = [userMessage('Load it'), ...batch(['small one', huge, 'small two'])];
    const compactor = createCompactor({ contextWindow: 64_000 });
    const outcome = await compactor.compact(messages, {
      reason: 'proactive_budget',
      logLocation: 's1.log.jsonl',
    });
    expect(outcome.status).toBe('applied');
    expect(outcome.tokensAfter).toBeLessThanOrEqual(64_000 * 0.9);
    expect(outcome.tokensAfter).toBeGreaterThan(64_000 * 0.7);
    assertPaired(outcome.messages);
    assertAccounted(messages, outcome);
    const [one, cut, two] = outputsOf(outcome.messages).map((result) => textOf([result]));
    expect([one, two]).toEqual(['small one', 'small two']);
    expect(cut?.startsWith('BEGIN')).toBe(true);
    expect(cut?.endsWith('END')).toBe(true);
    expect(cut).toMatch(
      /\d+ of \d+ characters are left out: .+ do not fit the context window; full text: log message /,
    );
  });

  it('keep the one line that is like no other, and lose nothing where lines repeat', async () => {
    const cut = async (output: string) => {
      const messages = [userMessage('Which order failed?'), ...batch([output])];
      const outcome = await createCompactor({ contextWindow: 8_000 }).compact(messages, {
        reason: 'proactive_budget',
      });
      expect(outcome.status).toBe('applied');
      return textOf(outputsOf(outcome.messages));
    };
    const half = Array.from({ length: 3_000 }, (_, row) => `INFO order ${row} done in ${row % 90}ms`).join(
      '\n',
    );
    expect(await cut(`${half}\nERROR order 99117 failed\n${half}`)).toMatch(
      /\n\[… \d+ of \d+ characters are left out: .*\n\[Omitted lines that are unlike all others:\]\nERROR order 99117 failed\n\[…\]\n/,
    );
    const warned = 'warning: unused import\n'.repeat(1_500);
    expect(await cut(`${warned}error[E0308]: src/lib.rs:44\n${warned}done`)).toMatch(
      /^warning: unused import \(×1500\)\nerror\[E0308\]: src\/lib\.rs:44\nwarning: unused import \(×1500\)\ndone\n\[69\d+ characters in fewer: /,
    );
  });

  it.each([160, 300, 600, 1_200])(
    'keep both ends in %i tokens, however many lines are like no other',
    (cap) => {
      const rows = Array.from({ length: 3_000 }, (_, row) => `INFO order ${row} done in ${row % 90}ms`);
      const odd = Array.from(
        { length: 12 },
        (_, at) => `${'ABCDEFGHIJKL'[at]} ${'is like no other '.repeat(20)}`,
      );
      const output = rows.toSpliced(1_500, 0, ...odd).join('\n');
      const [, result] = batch([output]);
      const cut = atOnce(cutMessage(result as Message, cap, meter, () => ({ words: 'full text: a.log' })));
      expect(meter.text(textOf(toolResultsOf(cut)))).toBeLessThanOrEqual(cap);
      expect(textOf(cut)).toMatch(/^INFO order 0 [\s\S]* done in \d+ms$/);
    },
  );

  it('name no log where there is none', async () => {
    const { messages } = await reduceWith(cutUnseen(), [userMessage('go'), ...batch([words(60_000)])]);
    expect(textOf(at(messages, -1))).toContain('ask for a part of it');
    expect(textOf(at(messages, -1))).not.toContain('log');
  });

  it('are unseen too behind a word of the user', async () => {
    const messages = [...rounds(3), ...batch([words(9_000)]), userMessage('Hurry up')];
    const outcome = await createCompactor({ contextWindow: 20_000, keep: { messages: 0 } }).compact(messages);
    expect(outputsOf(outcome.messages)).toEqual(outputsOf(messages));
  });

  it('are not taken by any stage while they fit, whoever wrote it', async () => {
    const messages = [userMessage('go'), ...batch([words(2_000)])];
    const careless = {
      name: 'careless',
      cost: 'free' as const,
      reduce: async () => ({
        messages: messages.map((message) =>
          message.role === 'tool' ? { ...message, content: [] } : message,
        ),
        fates: messages.map(({ id }) => ({ messageId: id, fate: 'masked' as const })),
      }),
    };
    const dropping = {
      ...careless,
      reduce: async () => ({
        messages: messages.slice(0, 1),
        fates: messages.map(({ id }) => ({ messageId: id, fate: 'dropped' as const })),
      }),
    };
    for (const stage of [careless, dropping]) {
      const outcome = await createCompactor({ stages: [stage], contextWindow: 8_000 }).compact(messages);
      expect(outcome).toMatchObject({
        status: 'failed',
        message: expect.stringContaining('no model has seen'),
      });
    }
    const cramped = createCompactor({ stages: [dropping], contextWindow: 1_000 });
    expect((await cramped.compact(messages)).messages).toBe(messages);
  });

  it('stay whole in batches of any size that fit; else the largest are cut until all fit', {
    timeout: 300_000,
  }, async () => {
    const scripts = ['word ', '数据库连接 ', 'данные ', 'ข้อมูล', '{"id": 17, "ok": true}, ', 'שלום '];
    const result = fc.record({
      script: fc.constantFrom(...scripts),
      share: fc.double({ min: 0, max: 1, noNaN: true }),
    });
    await fc.assert(
      fc.asyncProperty(
        fc.array(result, { minLength: 1, maxLength: 30 }),
        fc.constantFrom(8_000, 16_000, 64_000, 200_000, 1_000_000),
        fc.double({ min: 0.1, max: 3, noNaN: true }),
        fc.nat({ max: 20 }),
        fc.boolean(),
        async (results, contextWindow, fill, earlier, written) => {
          const shares = results.reduce((sum, { share }) => sum + share, 0) || 1;
          const outputs = results.map(({ script, share }) => {
            const wanted = (contextWindow * fill * share) / shares;
            return script.repeat(1 + Math.floor(wanted / Math.max(1, meter.text(script))));
          });
          const messages = [
            userMessage('Read all of it'),
            ...rounds(earlier, () => ({ output: lines(30) })),
            ...batch(outputs),
          ];
          const model = written ? modelOf(() => 'unusable') : undefined;
          const compactor = createCompactor({ contextWindow, ...(model ? { model } : {}) });
          const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
          const before = outputsOf(messages);
          const after = outputsOf(outcome.messages);
          expect(after.map(({ toolUseId }) => toolUseId)).toEqual(before.map(({ toolUseId }) => toolUseId));
          expect(outcome.tokensAfter).toBeLessThanOrEqual(Math.max(contextWindow, 30 * 200));
          const altered = before.filter((block, index) => block !== after[index]);
          const unseen = meter.messages(
            messages.filter(({ role }, index) => role === 'user' || index > earlier * 2),
          );
          if (unseen <= contextWindow * 0.8) expect(altered).toEqual([]);
          const whole = before
            .filter((block) => !altered.includes(block))
            .map((block) => meter.text(textOf([block])));
          for (const block of altered) {
            expect(meter.text(textOf([block]))).toBeGreaterThanOrEqual(Math.max(0, ...whole) - 20);
          }
          // Asked again with nothing new, there is nothing left to do.
          const again = await compactor.compact(outcome.messages, { reason: 'proactive_budget' });
          expect(outputsOf(again.messages)).toEqual(after);
        },
      ),
      { numRuns: 25 },
    );
  });

  it('are cut further after an overflow that our count did not foresee', async () => {
    const messages = [userMessage('go'), ...batch([words(20_000), 'small'])];
    const compactor = createCompactor({ contextWindow: 200_000 });
    const outcome = await compactor.compact(messages, { reason: 'request_too_large' });
    expect(outcome.status).toBe('applied');
    expect(outcome.tokensAfter).toBeLessThan(10_500);
    expect(textOf(at(outcome.messages, -1))).toBe('small');
  });

  it('stay in an agent’s session, whose log has them whole when they were cut', async () => {
    const messages = [userMessage('Load it'), ...batch([`BEGIN ${lines(60_000)} END`])];
    const scope = scopeOf(messages, { model: modelOf(() => 'unused', { contextWindow: 32_000 }) });
    await compaction({ model: null }).aroundReason?.(scope, async () => ({
      content: [],
      finishReason: 'stop',
    }));
    expect(scope.state.context).toHaveLength(3);
    expect(textOf(at(scope.state.context, -1))).toContain('left out');
    expect(scope.log.messages.at(-1)).toBe(messages.at(-1));
  });
});
