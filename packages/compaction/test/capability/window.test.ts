import { AgentState, ContextOverflowError, type Message, type ModelResponse, userMessage } from '@x/core';
import { describe, expect, it, vi } from 'vitest';
import { type CompactionCapabilityConfig, compaction } from '../../src/index.js';
import { lines, meter, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf, said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const answer = said('ok');

/** An error as a provider's client throws it. */
const refusal = (message: string, status = 400) => Object.assign(new Error(message), { status });

/** Sends one step to a provider that counts `factor` tokens for each of ours, and refuses what exceeds its window. */
async function send(
  capability: ReturnType<typeof compaction>,
  scope: TestScope,
  { window, factor = 1, error }: { window: number; factor?: number; error: (tokens: number) => Error },
): Promise<readonly number[]> {
  const sent: number[] = [];
  await capability.aroundReason?.(scope, async (): Promise<ModelResponse> => {
    const tokens = Math.round(meter.messages(scope.state.context) * factor);
    sent.push(tokens);
    if (tokens > window) throw error(tokens);
    return answer;
  });
  return sent;
}

const compacted = (scope: TestScope) =>
  scope.events.flatMap((event) => (event.type === 'context.compacted' ? event : []));
const history = (count: number): Message[] => [
  userMessage('go'),
  ...rounds(count, (index) => ({ output: `${index}\n${lines(200)}` })),
];
const image = () =>
  userMessage([
    { type: 'file', mediaType: 'image/png', source: { type: 'base64', data: 'A'.repeat(2_000_000) } },
  ]);
const modelWith = (contextWindow?: number) => modelOf(() => 'unused', { contextWindow });

describe('after an overflow', () => {
  it('masks alone where that fits the window that the error names', async () => {
    const messages = history(20);
    const tokens = meter.messages(messages);
    const scope = scopeOf(messages, { model: modelWith(1_000_000) });
    const capability = compaction({ model: null, stages: ['mask_outputs', 'summarize', 'drop_oldest'] });
    const window = Math.round(tokens * 0.93);
    const error = (sent: number) =>
      refusal(
        `This model's maximum context length is ${window} tokens. However, your messages resulted in ${sent} tokens.`,
      );
    const sent = await send(capability, scope, { window, error });
    expect(sent).toHaveLength(2);
    expect(compacted(scope)).toMatchObject([{ status: 'applied', stagesUsed: 'mask_outputs' }]);
  });

  it('learns the window from the numbers, and is not refused again', async () => {
    const scope = scopeOf([userMessage('go')], { model: modelWith(undefined) });
    const capability = compaction({ model: null, trigger: { share: 0 } });
    const error = (sent: number) => refusal(`prompt is too long: ${sent} tokens > 15000 maximum`);
    let refused = 0;
    for (let step = 0; step < 60; step++) {
      scope.state.contextMutable().push(...rounds(1, () => ({ output: lines(200) })));
      const sent = await send(capability, scope, { window: 15_000, error });
      refused += sent.length - 1;
    }
    expect(refused).toBe(1);
  });

  it.each([
    ['a single request to a smaller server', 1, 1],
    ['a small window', Number.POSITIVE_INFINITY, 2],
  ])('tries a declared window again, once, after %s', async (_, small, refusals) => {
    const scope = scopeOf([userMessage('go')], { model: modelWith(60_000) });
    const capability = compaction({ model: null });
    const error = (sent: number) => refusal(`prompt is too long: ${sent} tokens > 10000 maximum`);
    let refused = 0;
    let largest = 0;
    for (let step = 0; step < 250; step++) {
      scope.state.contextMutable().push(...rounds(1, () => ({ output: lines(200) })));
      const window = refused < small && step >= 20 ? 10_000 : 60_000;
      const sent = await send(capability, scope, { window, error });
      refused += sent.length - 1;
      largest = Math.max(largest, ...sent.slice(-1));
    }
    expect(refused).toBe(refusals);
    if (refusals === 1) expect(largest).toBeGreaterThan(40_000);
  });

  it.each([1.3, 1.6, 2.5])(
    'learns from a bare refusal that a provider counts %d times as much',
    async (factor) => {
      const scope = scopeOf([userMessage('go')], { model: modelWith(16_000) });
      const capability = compaction({ preset: 'agentscope', model: null });
      let refused = 0;
      for (let step = 0; step < 120; step++) {
        scope.state.contextMutable().push(...rounds(1, () => ({ output: lines(200) })));
        const sent = await send(capability, scope, {
          window: 16_000,
          factor,
          error: () => new ContextOverflowError(),
        });
        refused += sent.length - 1;
      }
      expect(refused).toBeLessThanOrEqual(5);
    },
  );

  it('learns from a bare refusal that the window is a tenth of what the model declares', async () => {
    const scope = scopeOf([userMessage('go')], { model: modelWith(160_000) });
    const capability = compaction({ model: null });
    let refused = 0;
    for (let step = 0; step < 120; step++) {
      scope.state.contextMutable().push(...rounds(1, () => ({ output: lines(200) })));
      const sent = await send(capability, scope, {
        window: 16_000,
        error: () => new ContextOverflowError(),
      });
      refused += sent.length - 1;
    }
    expect(refused).toBeLessThanOrEqual(2);
  });

  it.each([
    ['the bytes of files may be the cause', [image(), userMessage('What is it?')], answer],
    ['the smaller request fails, too', [], undefined],
  ])('learns no window if %s', async (_, more, second) => {
    const scope = scopeOf([...more, ...history(20)], { model: modelWith(1_000_000) });
    let calls = 0;
    const step = compaction({ model: null }).aroundReason?.(scope, async () => {
      if (calls++ === 0 || second === undefined) throw new ContextOverflowError();
      return second;
    });
    await step?.catch(() => {});
    expect(calls).toBe(2);
    expect(scope.state.extensions.compaction).not.toHaveProperty('windows');
  });

  it('does not believe numbers that cannot be those of the request', async () => {
    const scope = scopeOf(history(20), { model: modelWith(1_000_000) });
    let calls = 0;
    const capability = compaction({ model: null });
    await capability.aroundReason?.(scope, async () => {
      if (calls++ === 0) throw refusal('maximum context length is 9000000 tokens, you sent 99000000');
      return answer;
    });
    expect(compacted(scope)).toMatchObject([{ status: 'applied' }]);
    expect(scope.state.extensions.compaction).not.toHaveProperty('windows');
  });
});

describe('a refusal in words that nobody knows', () => {
  const full = () =>
    scopeOf(history(20), { model: modelWith(Math.round(meter.messages(history(20)) * 1.25)) });
  const strange = refusal('Die Eingabe ist zu lang.', 422);

  it('is taken for an overflow where the request nearly fills the window, and told of', async () => {
    const scope = full();
    let calls = 0;
    await compaction({ model: null }).aroundReason?.(scope, async () => {
      if (calls++ === 0) throw strange;
      return answer;
    });
    expect(calls).toBe(2);
    expect(scope.events).toMatchObject([
      { type: 'warning', message: expect.stringContaining('Die Eingabe ist zu lang.') },
      { type: 'context.compacting', reason: 'request_too_large' },
      { type: 'context.compacted', status: 'applied' },
    ]);
  });

  it.each([401, 403, 404, 500])('is passed on with status %i', async (status) => {
    const scope = full();
    const error = refusal('Die Eingabe ist zu lang.', status);
    const next = vi.fn(async () => Promise.reject(error));
    await expect(compaction({ model: null }).aroundReason?.(scope, next)).rejects.toBe(error);
    expect(next).toHaveBeenCalledTimes(1);
  });

  it('is passed on where there is much room', async () => {
    const scope = scopeOf(history(20), { model: modelWith(1_000_000) });
    await expect(
      compaction({ model: null }).aroundReason?.(scope, async () => Promise.reject(strange)),
    ).rejects.toBe(strange);
    expect(compacted(scope)).toEqual([]);
  });

  it('costs one try, until a request succeeds', async () => {
    const scope = full();
    const capability = compaction({ model: null });
    const next = vi.fn(async (): Promise<ModelResponse> => Promise.reject(strange));
    await expect(capability.aroundReason?.(scope, next)).rejects.toBe(strange);
    expect(next).toHaveBeenCalledTimes(2);
    scope.state.contextMutable().push(...rounds(13, () => ({ output: lines(200) })));
    await expect(capability.aroundReason?.(scope, next)).rejects.toBe(strange);
    expect(next).toHaveBeenCalledTimes(3);
    // The next call loads the state again.
    await expect(capability.aroundReason?.(full(), next)).rejects.toBe(strange);
    expect(next).toHaveBeenCalledTimes(4);
  });
});

describe('the tool compact', () => {
  const ask = async (size: number) => {
    const scope = scopeOf(history(size), { model: modelWith(20_000) });
    const capability = compaction({ model: null, compactTool: true });
    await send(capability, scope, { window: 20_000, error: () => new Error('unused') });
    const tool = capability.tools?.find(({ definition }) => definition.name === 'compact');
    return tool?.run({}, { state: scope.state } as never);
  };

  it('refuses below half of what makes a compaction due', async () => {
    await expect(ask(5)).rejects.toThrow(/has \d+ % of the size at which it is compacted automatically/);
    expect(await ask(17)).toMatchObject([{ text: expect.stringContaining('will be replaced') }]);
  });

  it('keeps its promise in another process, once', async () => {
    const model = modelOf(() => GOOD_SUMMARY, { contextWindow: 20_000 });
    const first = scopeOf(history(17), { model });
    const asked = compaction({ compactTool: true });
    const tool = asked.tools?.find(({ definition }) => definition.name === 'compact');
    await tool?.run({ keep: 'THE PORTS' }, { state: first.state } as never);
    const state = AgentState.fromJSON(JSON.parse(JSON.stringify(first.state)));
    const next = scopeOf([], { model, state });
    const capability = compaction({ compactTool: true });
    for (let step = 0; step < 2; step++)
      await send(capability, next, { window: 20_000, error: () => new Error('unused') });
    const outcomes = next.events.filter(({ type }) => type === 'context.compacted');
    expect(outcomes).toMatchObject([{ reason: 'manual', status: 'applied' }]);
    expect(model.requests.map(promptOf)).toEqual([expect.stringContaining('THE PORTS')]);
  });
});

describe('a configured window', () => {
  it.each([
    ['overrides that of the agent’s model, also if that is made anew for each step', true],
    ['does not override the smaller one of a fallback', false],
  ])('%s', async (_, isOwn) => {
    const capability = compaction({ model: null, contextWindow: 1_000_000 });
    await capability.install?.({ agentId: 'a', model: modelWith(20_000), tools: [] } as never);
    const model = { ...modelWith(20_000), ...(isOwn ? {} : { id: 'fallback' }) };
    const scope = scopeOf(history(40), { model });
    const [sent = 0] = await send(capability, scope, { window: 1_000_000, error: () => new Error('unused') });
    expect(sent > 20_000).toBe(isOwn);
  });
});

describe('a trigger above the window', () => {
  const warned = async (config: CompactionCapabilityConfig) => {
    const spy = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    const capability = compaction(config);
    await capability.install?.({ agentId: 'a', model: modelWith(32_000), tools: [] } as never);
    const texts = spy.mock.calls.map(([text]) => String(text));
    spy.mockRestore();
    return texts.filter((text) => text.includes('is above'));
  };

  it.each<[CompactionCapabilityConfig, string]>([
    [{ trigger: { tokens: 80_000 } }, 'trigger.tokens 80000'],
    [{ preset: 'agentscope', triggerTokens: 60_000 }, 'triggerTokens 60000'],
    [{ preset: 'aura', maxTokens: 50_000 }, 'maxTokens 50000'],
    [
      { preset: 'everruns', infinityContext: { contextBudgetTokens: 90_000 } },
      'infinityContext.contextBudgetTokens 90000',
    ],
  ])('is told of at build, in the words of the user: %j', async (config, words) => {
    expect(await warned(config)).toEqual([expect.stringContaining(words)]);
  });

  it.each<CompactionCapabilityConfig>([{}, { preset: 'agentscope' }, { trigger: { tokens: 20_000 } }])(
    'is not told of where nobody named one: %j',
    async (config) => {
      expect(await warned(config)).toEqual([]);
    },
  );
});
