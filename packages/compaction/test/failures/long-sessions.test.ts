import {
  assistantMessage,
  ContextOverflowError,
  type Message,
  type ModelResponse,
  textOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { describe, expect, it } from 'vitest';
import { type CompactionSettings, compaction, createCompactor } from '../../src/index.js';
import { at, lines, meter, round, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf, said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const compactions = (scope: TestScope) =>
  scope.events.flatMap((event) => (event.type === 'context.compacted' ? [event.status] : []));
const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };

describe('a session that outlives its window many times', () => {
  it('names in its record what was read, so that an agent that heeds it reads no file twice', async () => {
    const files = Array.from({ length: 40 }, (_, index) => `src/part${index}.ts`);
    const capability = compaction({ model: null, contextWindow: 8_000 });
    const scope = scopeOf([userMessage('Read every file of src once, then sum up.')]);
    const read: string[] = [];
    for (let step = 0; step < 60; step++) {
      await capability.aroundReason?.(scope, async () => {
        const seen = JSON.stringify(scope.state.context.map(({ content }) => content));
        const next = files.find((path) => !seen.includes(path));
        if (next === undefined) return answer;
        read.push(next);
        scope.state.contextMutable().push(...round({ input: { path: next }, output: lines(400) }));
        return answer;
      });
    }
    expect(compactions(scope).filter((status) => status === 'applied').length).toBeGreaterThan(3);
    expect(read).toEqual(files);
    expect(scope.state.summary).toContain(at(files, 0));
  });

  it('is left alone when nothing can go any more, however large the provider says the rest is', async () => {
    const ladders: CompactionSettings[] = [{}, { stages: ['mask_outputs', 'drop_oldest'] }];
    for (const ladder of ladders) {
      const name = JSON.stringify(ladder);
      const messages = [userMessage('go'), ...rounds(40, () => ({ output: lines(300) }))];
      const scope = scopeOf(messages, { system: 'Be careful. '.repeat(4_100) });
      const capability = compaction({ model: null, contextWindow: 40_000, ...ladder });
      const before: number[] = [];
      for (let step = 0; step < 20; step++) {
        await capability.aroundReason?.(scope, async () => ({
          ...answer,
          usage: { inputTokens: 39_000, outputTokens: 1 },
        }));
        before.push(compactions(scope).length);
      }
      // Reports show, one by one, that the count was too low: more goes as long as there is something to take.
      expect(before[0], name).toBe(1);
      expect(before.at(-1), name).toBeLessThanOrEqual(8);
      const all = compactions(scope);
      expect(all.indexOf('ineffective'), name).toBe(all.length - 1);
    }
  });

  it('calls no model for 300 small steps in a window of 400 000 tokens', async () => {
    const model = modelOf(() => GOOD_SUMMARY, { contextWindow: 400_000 });
    const capability = compaction();
    const scope = scopeOf([userMessage('Go through all parts.')], { model });
    for (let step = 0; step < 300; step++) {
      scope.state.contextMutable().push(...round({ input: { path: `part${step}` }, output: lines(12) }));
      await capability.aroundReason?.(scope, async () => answer);
    }
    expect(scope.events).toEqual([]);
    expect(model.requests).toEqual([]);
  });

  it('has the earlier summary in the request for the next one, where one turn is larger than the window', async () => {
    const model = modelOf(() => GOOD_SUMMARY.replace('found the cause', 'found the leaking valve'));
    const compactor = createCompactor({ model, stages: ['summarize', 'drop_oldest'], contextWindow: 8_000 });
    const first = await compactor.compact([
      userMessage('Mend it'),
      ...rounds(20, () => ({ output: lines(90) })),
    ]);
    expect(first.status).toBe('applied');
    const asked = model.requests.length;
    const turn = [userMessage('Now all the others'), ...rounds(40, () => ({ output: lines(200) }))];
    const second = await compactor.compact([...first.messages, ...turn], { reason: 'request_too_large' });
    expect(second.status).toBe('applied');
    expect(model.requests.slice(asked).map(promptOf).join('\n')).toContain('found the leaking valve');
    expect(second.messages).toContain(turn[0]);
  });

  it('ends its turn as it did: a compaction behind the last answer asks for nothing more', async () => {
    const done = assistantMessage('All of it is done.');
    const scope = scopeOf([userMessage('Do it'), ...rounds(40, () => ({ output: lines(60) })), done]);
    const model = modelOf(() => GOOD_SUMMARY);
    const capability = compaction({ model, stages: ['summarize', 'drop_oldest'] });
    expect((await capability.compact?.(scope, {}))?.status).toBe('applied');
    const { context } = scope.state;
    expect(context.at(-1)).toBe(done);
    const requests = context.filter(({ role, kind }) => role === 'user' && kind === undefined);
    expect(requests.map(textOf)).toEqual(['Do it']);
    expect(model.requests).toHaveLength(1);
  });
});

describe('what a user has configured', () => {
  it('holds for the recovery of an overflow too: the model, the prompt and what is kept', async () => {
    const model = modelOf(
      () => `Short and sweet. ${'What was found stands here, file by file and in its order. '.repeat(3)}`,
    );
    const old = rounds(20, () => ({ say: 'word '.repeat(1_500) }));
    const scope = scopeOf([userMessage('go'), ...old, ...rounds(2, () => ({ say: 'now this' }))]);
    const newest = scope.state.context.slice(-4);
    const summaryPrompt = 'Tell it as a sailor would.';
    const capability = compaction({
      model,
      summary: { prompt: summaryPrompt },
      stages: ['summarize', 'drop_oldest'],
      keep: { messages: 4 },
    });
    let calls = 0;
    await capability.aroundReason?.(scope, async () => {
      if (calls++ === 0) throw new ContextOverflowError();
      return answer;
    });
    expect(calls).toBe(2);
    expect(model.requests.map(promptOf).join()).toContain(summaryPrompt);
    expect(scope.state.summary).toContain('Short and sweet.');
    expect(scope.state.context.slice(-4)).toEqual(newest);
    expect(scope.state.context.flatMap(toolUsesOf)).toHaveLength(2);
  });

  it('holds for the session of an agent too: tiers are verbatim, masked and summarized there', async () => {
    const messages = [
      userMessage('start'),
      ...rounds(60, () => ({ say: 'word '.repeat(250), output: lines(60) })),
    ];
    const scope = scopeOf(messages);
    const capability = compaction({
      preset: 'everruns',
      model: null,
      contextWindow: 16_000,
      memoryTiers: { hotMessages: 4, warmMessages: 10 },
    });
    await capability.aroundReason?.(scope, async () => answer);
    const [request, summary, ...rest] = scope.state.context;
    expect(request).toBe(messages[0]);
    expect(summary?.kind).toBe('summary');
    expect(rest).toHaveLength(14);
    expect(rest.slice(-4)).toEqual(messages.slice(-4));
    const warm = rest.slice(0, 10).filter((message: Message) => message.role === 'tool');
    expect(warm.filter((message) => !textOf(message).startsWith('[read_file '))).toEqual([]);
  });
});

describe('a summary that the model makes much too long', () => {
  it('replaces nothing unless the conversation saves enough, however much the system prompt and the tools weigh beside it', async () => {
    const statuses: string[] = [];
    for (const count of [8, 14, 17, 20, 23, 30, 60]) {
      const messages = [userMessage('go'), ...rounds(6, () => ({ output: lines(count) }))];
      const model = modelOf(() => said(`${GOOD_SUMMARY}\n${'more '.repeat(1_500)}`));
      const compactor = createCompactor({
        model,
        stages: ['summarize', 'drop_oldest'],
        summary: { fallback: 'none' },
        keep: { messages: 2 },
      });
      const outcome = await compactor.compact(messages, { system: 'Be careful. '.repeat(9_000) });
      statuses.push(outcome.status);
      const before = meter.messages(messages);
      const most = outcome.status === 'applied' ? before * 0.95 : before;
      expect(meter.messages(outcome.messages), String(count)).toBeLessThanOrEqual(most);
      if (outcome.status !== 'applied') expect(outcome.messages, String(count)).toBe(messages);
    }
    expect(new Set(statuses).size).toBeGreaterThan(1);
  });
});
