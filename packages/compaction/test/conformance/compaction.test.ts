import {
  type Message,
  type ModelResponse,
  systemMessage,
  textOf,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { assertPaired } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { type CompactionCapabilityConfig, compaction } from '../../src/index.js';
import { at, lines, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
const more = (count = 30) => rounds(count, () => ({ output: lines(40) }));
const long = () => [userMessage('fix the login'), ...more()];

/** A window of which `long` fills more than the share at which a reduction is due. */
const contextWindow = 6_600;

/** One reasoning step; how often the model itself was called in it. */
async function step(scope: TestScope, config: CompactionCapabilityConfig, next = async () => answer) {
  let calls = 0;
  const response = await compaction({ contextWindow, ...config }).aroundReason?.(scope, () => {
    calls++;
    return next();
  });
  return { response, calls };
}
const outcomes = (scope: TestScope) =>
  scope.events.flatMap((event) => (event.type === 'context.compacted' ? [event] : []));

describe('a summary of before', () => {
  it('is updated by the summarizer, and neither flushed nor kept beside the new one', async () => {
    const flushed: Message[] = [];
    const model = modelOf((_, index) => GOOD_SUMMARY.replace('Fix the login', `Intent ${index}`));
    const scope = scopeOf(long(), { beforeReduction: async (removed) => void flushed.push(...removed) });
    await step(scope, { model });
    const first = scope.state.summary ?? '';
    expect(first).toContain('Intent 0');
    scope.state.contextMutable().push(...more());
    await step(scope, { model });

    const prompt = promptOf(at(model.requests, -1));
    expect(prompt).toContain('Intent 0');
    expect(prompt).not.toContain('[CONVERSATION_SUMMARY]');
    expect(flushed.some(({ kind }) => kind === 'summary')).toBe(false);
    expect(new Set(flushed.map(({ id }) => id)).size).toBe(flushed.length);
    const summaries = scope.state.context.filter(({ kind }) => kind === 'summary');
    expect(summaries).toHaveLength(1);
    expect(textOf(at(summaries, 0))).toContain('Intent 1');
    expect(scope.state.context).not.toContainEqual(expect.objectContaining({ kind: 'synthetic' }));
  });

  it('merges with another one, also one that somebody else wrote', async () => {
    const scope = scopeOf(long());
    const model = modelOf(() => GOOD_SUMMARY);
    await step(scope, { model: modelOf(() => GOOD_SUMMARY.replace('Fix the login', 'Mend the door')) });
    const context = scope.state.contextMutable();
    context.splice(1, 0, userMessage('Never use port 80.', { kind: 'summary' }));
    context.push(...more());
    await step(scope, { model });
    expect(scope.state.context.filter(({ kind }) => kind === 'summary')).toHaveLength(1);
    const prompt = promptOf(at(model.requests, 0));
    expect(prompt).toContain('Never use port 80.');
    expect(prompt).toContain('Mend the door');
  });

  it('alone is nothing to summarize again: no model is asked, and it stays as it is', async () => {
    const scope = scopeOf(long());
    await step(scope, {
      model: modelOf(() => GOOD_SUMMARY),
      keep: { messages: 0 },
    });
    const model = modelOf(() => 'must not be asked');
    const alone = scopeOf(scope.state.context.filter(({ kind }) => kind === 'summary'));
    expect(alone.state.context).toHaveLength(1);
    const outcome = await compaction({ model }).compact?.(alone, {});
    expect(outcome?.status).not.toBe('applied');
    expect(outcome?.messages).toEqual(alone.state.context);
    expect(model.requests).toEqual([]);
  });
});

describe('flushing before a compaction', () => {
  it('can be switched off: then nobody is told', async () => {
    const told: unknown[] = [];
    const scope = scopeOf(long(), { beforeReduction: async (removed) => void told.push(removed) });
    await step(scope, { model: null, flushBeforeCompact: false });
    expect(outcomes(scope)).toMatchObject([{ status: 'applied' }]);
    expect(told).toEqual([]);
  });

  it('that fails is told, and does not keep the conversation from being reduced', async () => {
    const beforeReduction = () => Promise.reject(new Error('memory is down'));
    const scope = scopeOf(long(), { beforeReduction });
    await step(scope, { model: null });
    expect(outcomes(scope)).toMatchObject([{ status: 'applied' }]);
    expect(scope.events).toContainEqual(
      expect.objectContaining({ type: 'warning', message: expect.stringContaining('memory is down') }),
    );
  });

  it.each(['flush', 'log', 'beforeCompaction', 'summary'] as const)(
    'and interrupted in its %s leaves the conversation as it was, and asks the model nothing',
    async (where) => {
      const abort = new AbortController();
      const stop = () => abort.abort(new Error('the user stops'));
      const scope = scopeOf(long(), {
        signal: abort.signal,
        ...(where === 'flush' ? { beforeReduction: async () => stop() } : {}),
      });
      const before = [...scope.state.context];
      if (where === 'log') scope.log.append = async () => stop();
      const model = modelOf(() => {
        if (where === 'summary') stop();
        return GOOD_SUMMARY;
      });
      await step(scope, {
        model,
        ...(where === 'beforeCompaction' ? { beforeCompaction: stop } : {}),
      });
      expect(scope.state.context).toEqual(before);
      expect(outcomes(scope)).toMatchObject([{ status: 'aborted' }]);
    },
  );
});

describe('a compaction that fails', () => {
  it('sends the conversation as it was, to the model once', async () => {
    const scope = scopeOf(long());
    const before = [...scope.state.context];
    const down = modelOf(() => Promise.reject(new Error('provider down')));
    const { calls, response } = await step(scope, {
      model: down,
      stages: ['summarize', 'drop_oldest'],
      summary: { fallback: 'none' },
    });
    expect(response).toBe(answer);
    expect(calls).toBe(1);
    expect(scope.state.context).toEqual(before);
    expect(outcomes(scope)).toMatchObject([
      { status: 'failed', message: expect.stringContaining('provider down') },
    ]);
  });

  it.each([
    ['is empty', ''],
    ['only says that it failed', '(Summarization failed: timeout)'],
    ['apologizes', 'I am sorry, but I cannot do that.'],
  ])('never puts words in the place of a history: a summary that %s is none', async (_, words) => {
    const scope = scopeOf(long());
    const before = [...scope.state.context];
    await step(scope, {
      model: modelOf(() => words),
      stages: ['summarize', 'drop_oldest'],
      summary: { fallback: 'none' },
    });
    expect(scope.state.context).toEqual(before);
    expect(outcomes(scope)).toMatchObject([{ status: 'failed' }]);
  });
});

describe('what the model itself fails with', () => {
  it.each([
    ['an error', new Error('boom')],
    ['an interruption', new DOMException('stopped', 'AbortError')],
    [
      'an error that is its own cause',
      (() => {
        const error = new Error('round and round');
        error.cause = error;
        return error;
      })(),
    ],
    ['something that is no error', 'just text'],
  ])('passes through as it is, without another call: %s', async (_, thrown) => {
    const scope = scopeOf(rounds(3));
    let calls = 0;
    const failing = step(scope, { model: null }, () => {
      calls++;
      return Promise.reject(thrown);
    });
    await expect(failing).rejects.toBe(thrown);
    expect(calls).toBe(1);
    expect(outcomes(scope)).toEqual([]);
  });

  it('in one session changes nothing in another of the same agent', async () => {
    const capability = compaction({ contextWindow, model: modelOf(() => GOOD_SUMMARY) });
    const abort = new AbortController();
    const one = scopeOf(long(), { signal: abort.signal });
    const other = scopeOf(long());
    const before = [...one.state.context];
    abort.abort(new Error('stopped'));
    // A compaction that yields on its way notices the abort there.
    await capability.aroundReason?.(one, async () => answer).catch(() => undefined);
    await capability.aroundReason?.(other, async () => answer);
    expect(one.state.context).toEqual(before);
    expect(outcomes(other)).toMatchObject([{ status: 'applied' }]);
  });
});

describe('the cut', () => {
  it('leaves a system message and the request of the user where the turn is larger than the window', async () => {
    const messages = [
      systemMessage('Be brief.'),
      userMessage('Read all the files'),
      ...rounds(60, () => ({ output: lines(60) })),
    ];
    const scope = scopeOf(messages, { model: modelOf(() => GOOD_SUMMARY, { contextWindow: 16_000 }) });
    await step(scope, { contextWindow: 16_000, keep: { tokens: 2_000 } });
    expect(outcomes(scope)).toMatchObject([{ status: 'applied' }]);
    expect(scope.state.context).toContain(messages[1]);
    assertPaired(scope.state.context);
    const calls = scope.state.context.flatMap(toolUsesOf).length;
    expect(scope.state.context.flatMap(toolResultsOf)).toHaveLength(calls);
  });
});
