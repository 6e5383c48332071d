import {
  assistantMessage,
  type ContentBlock,
  type Message,
  type ModelResponse,
  type ReasonScope,
  textOf,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { type CompactionCapabilityConfig, compaction, createCompactor } from '../../src/index.js';
import { lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const WINDOW = 128_000;
const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
const outcomes = (scope: TestScope) =>
  scope.events.flatMap((event) => (event.type === 'context.compacted' ? [event] : []));
const scopeWith = (messages: readonly Message[], overrides: Partial<ReasonScope> = {}) =>
  scopeOf(messages, { model: modelOf(() => GOOD_SUMMARY, { contextWindow: WINDOW }), ...overrides });

describe('compaction as it comes', () => {
  /** The steps before which one session compacts, until it has done so four times. */
  async function compactions(config: CompactionCapabilityConfig, length: number) {
    const capability = compaction(config);
    const model = modelOf(() => GOOD_SUMMARY, { contextWindow: 32_000 });
    const scope = scopeOf([userMessage('Do it')], { model });
    const at: number[] = [];
    for (let step = 0; step < 3_000 && at.length < 4; step++) {
      scope.state.contextMutable().push(...rounds(1, () => ({ output: 'x '.repeat(length / 2) })));
      const before = outcomes(scope).length;
      await capability.aroundReason?.(scope, async () => answer);
      if (outcomes(scope).length > before) at.push(step);
    }
    expect(at).toHaveLength(4);
    expect(outcomes(scope).map(({ status }) => status)).toEqual(Array(4).fill('applied'));
    expect(outcomes(scope).every(({ tokensAfter }) => tokensAfter <= 0.65 * 32_000)).toBe(true);
    expect(model.requests.length).toBeLessThanOrEqual(at.length);
    return at.slice(1).map((step, index) => step - (at[index] ?? 0));
  }

  it.each([200, 450, 1_000, 2_000])(
    'makes room for many steps at once, with messages of %i characters',
    async (length) => {
      expect(Math.min(...(await compactions({}, length)))).toBeGreaterThanOrEqual(10);
    },
  );

  it.each([40, 450])(
    'makes room for many steps where messages are counted, with %i characters each',
    async (length) => {
      // Fifty messages are 25 steps; at least ten of them lie between two compactions.
      const gaps = await compactions({ trigger: { messages: 50 } }, length);
      expect(Math.min(...gaps)).toBeGreaterThanOrEqual(10);
    },
  );

  it('shrinks the request by what is free, with no summary where masking suffices', async () => {
    const model = modelOf(() => GOOD_SUMMARY, { contextWindow: 32_000 });
    const scope = scopeOf([userMessage('Do it'), ...rounds(20, () => ({ output: lines(600) }))], { model });
    let seen: readonly Message[] = [];
    await compaction({ stages: ['mask_outputs', 'summarize', 'drop_oldest'] }).aroundReason?.(
      scope,
      async () => {
        seen = [...scope.state.context];
        return answer;
      },
    );
    expect(outcomes(scope)).toMatchObject([{ status: 'applied' }]);
    expect(model.requests).toEqual([]);
    expect(seen).toHaveLength(41);
    expect(JSON.stringify(seen).length).toBeLessThan(120_000);
  });
});

describe('what is counted', () => {
  const image: ContentBlock = {
    type: 'file',
    mediaType: 'image/png',
    source: { type: 'base64', data: 'A'.repeat(4_000) },
  };
  const due: Readonly<Record<string, () => TestScope>> = {
    'Chinese text, which has about a token a character': () =>
      scopeWith(Array.from({ length: 8 }, () => userMessage('数据库迁移完成了吗'.repeat(1_000)))),
    thinking: () =>
      scopeWith(
        Array.from({ length: 10 }, () =>
          assistantMessage([
            { type: 'thinking', thinking: 'hmm, well. '.repeat(4_000) },
            { type: 'text', text: 'Yes.' },
          ]),
        ),
      ),
    images: () => scopeWith(Array.from({ length: 40 }, () => userMessage([image, image]))),
    'the system prompt': () => scopeWith(rounds(4), { system: 'Be careful. '.repeat(20_000) }),
    'the schemas of tools': () =>
      scopeWith(rounds(4), {
        tools: Array.from({ length: 200 }, (_, index) => ({
          name: `tool_${index}`,
          description: 'Does something useful. '.repeat(100),
          inputSchema: { type: 'object' },
        })),
      }),
    'what calls are given': () =>
      scopeWith(rounds(20, () => ({ input: { path: 'a', content: lines(1_500) } }))),
  };

  it.each(Object.keys(due))('is also %s', async (what) => {
    const scope = due[what]?.() as TestScope;
    const { aroundReason } = compaction({
      model: null,
      trigger: { tokens: 40_000 },
    });
    await aroundReason?.(scope, async () => answer);
    expect(outcomes(scope)).toHaveLength(1);
  });
});

describe('what stays', () => {
  it('grows with the window, and holds the request of the user and the plan whatever was cut', async () => {
    const kept: number[] = [];
    for (const contextWindow of [16_000, 100_000, 400_000]) {
      const request = userMessage('Never touch the file legal.txt while you do all this');
      const messages = [request, ...rounds(600, () => ({ output: lines(300) }))];
      const scope = scopeOf(messages, { model: modelOf(() => GOOD_SUMMARY, { contextWindow }) });
      scope.state.planModeContext = { active: false, planFile: 'plans/door.md' };
      await compaction({
        keep: { messages: 10_000 },
        stages: ['summarize', 'drop_oldest'],
      }).aroundReason?.(scope, async () => answer);
      expect(scope.state.context).toContain(request);
      expect(scope.state.summary).toContain('plans/door.md');
      kept.push(scope.state.context.length);
    }
    const [small = 0, middle = 0, large = 0] = kept;
    expect(middle).toBeGreaterThan(3 * small);
    expect(large).toBeGreaterThan(3 * middle);
  });

  it('names every file that was touched, though the model that summarizes forgets to', async () => {
    const messages = [
      userMessage('Do it'),
      ...rounds(30, (index) => ({
        name: 'edit_file',
        input: { path: `src/part${index}.ts`, oldText: lines(40), newText: lines(40) },
      })),
    ];
    const model = modelOf(() => GOOD_SUMMARY);
    const outcome = await createCompactor({ model, contextWindow: 12_000 }).compact(messages);
    const summary = textOf(outcome.messages.find(({ kind }) => kind === 'summary') as Message);
    expect(outcome.messages.length).toBeLessThan(20);
    for (let index = 0; index < 20; index++) expect(summary).toContain(`part${index}.ts`);
    expect(promptOf(model.requests[0])).toContain('src/part3.ts');
  });
});

describe('what can be seen of it', () => {
  it('is a dry run with the same report, and an account of every message', async () => {
    const messages = [userMessage('Do it'), ...rounds(60, () => ({ output: lines(60) }))];
    const compactor = createCompactor({ contextWindow: 16_000 });
    const plan = await compactor.plan(messages);
    const outcome = await compactor.compact(messages);
    const comparable = ({ steps, tokensAfter, manifest, status }: typeof plan) => ({
      status,
      tokensAfter,
      manifest,
      steps: steps.map(({ stage, tokensBefore, tokensAfter: after }) => [stage, tokensBefore, after]),
    });
    expect(comparable(plan)).toEqual(comparable(outcome));
    const kept = new Set(outcome.messages);
    const gone = messages.filter((message) => !kept.has(message)).map(({ id }) => id);
    const told = outcome.manifest.map(({ messageId }) => messageId);
    expect(gone.filter((id) => !told.includes(id))).toEqual([]);
  });
});
