import {
  type AgentComposition,
  assistantMessage,
  ContextOverflowError,
  type Message,
  type Model,
  type ModelResponse,
  SessionConflictError,
  textOf,
  userMessage,
} from '@x/core';
import { assertPaired } from '@x/test-support';
import { describe, expect, it, vi } from 'vitest';
import {
  type BeforeCompaction,
  type CompactionCapabilityConfig,
  compaction,
  type Stage,
} from '../../src/index.js';
import { at, lines, meter, rounds } from '../build.js';
import { GOOD_SUMMARY, modelOf, promptOf, said } from '../models.js';
import { scopeOf, type TestScope } from '../scope.js';

const long = () => [userMessage('fix the login'), ...rounds(30, () => ({ output: lines(40) }))];
/** A window of which `long` fills more than the share at which a reduction is due. */
const small = { contextWindow: 6_600 } as const;
/** The same with the record alone. */
const recorded = { ...small, model: null } as const;
const answer: ModelResponse = { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
const step = (capability: ReturnType<typeof compaction>, scope: TestScope, next = async () => answer) =>
  capability.aroundReason?.(scope, next) as Promise<ModelResponse>;
const compacted = (scope: TestScope) => scope.events.filter((event) => event.type === 'context.compacted');

describe('offloadBeforeCompact', () => {
  const reduced = async (offloadBeforeCompact: boolean, append?: TestScope['log']['append']) => {
    const scope = scopeOf(long());
    let logged = 0;
    scope.log.append = async (messages) => {
      logged += messages.length;
      await append?.(messages);
    };
    await step(compaction({ ...recorded, offloadBeforeCompact }), scope);
    return {
      status: compacted(scope)[0]?.status,
      logged,
      names: scope.state.summary?.includes('.log.jsonl'),
    };
  };

  it('logs all messages before they are reduced, then the summary, and names the log; false does neither', async () => {
    expect(await reduced(true)).toEqual({ status: 'applied', logged: 62, names: true });
    expect(await reduced(false)).toEqual({ status: 'applied', logged: 0, names: false });
  });

  it('false does not wait for a log that cannot be written', async () => {
    const fails = () => Promise.reject(new Error('disk full'));
    expect(await reduced(true, fails)).toMatchObject({ status: 'failed' });
    expect(await reduced(false, fails)).toMatchObject({ status: 'applied' });
  });
});

it('counts anew what was taken out of the middle after a provider refused it', async () => {
  const scope = scopeOf(long());
  const list = scope.state.contextMutable();
  list.splice(1, 0, assistantMessage([{ type: 'text', text: 'thought '.repeat(300) }]));
  const before = meter.messages(list);
  const capability = compaction({ model: null, trigger: { tokens: before + 100 } });
  const refused = new Error('invalid_encrypted_content');
  await expect(step(capability, scope, () => Promise.reject(refused))).rejects.toBe(refused);

  list.splice(1, 1);
  list.push(userMessage('word '.repeat(200)));
  expect(meter.messages(list)).toBeLessThan(before);
  await step(capability, scope);
  expect(compacted(scope)).toHaveLength(0);
});

describe('compaction, before a model call', () => {
  it('does nothing, and says nothing, while no trigger is reached', async () => {
    const scope = scopeOf(rounds(5));
    const before = [...scope.state.context];
    await step(compaction({ model: null }), scope);
    expect(scope.state.context).toEqual(before);
    expect(scope.events).toEqual([]);
    expect(scope.checkpoints).toBe(0);
  });

  it('logs everything, reduces in place, checkpoints and reports', async () => {
    const scope = scopeOf(long());
    const list = scope.state.contextMutable();
    const before = [...list];
    let seen = 0;
    const whenLogged: number[] = [];
    const { append } = scope.log;
    scope.log.append = (messages) => {
      whenLogged.push(list.length);
      return append(messages);
    };
    await step(compaction(recorded), scope, async () => {
      seen = scope.state.context.length;
      return answer;
    });

    expect(scope.log.messages).toEqual([...before, list[1]]);
    expect(whenLogged).toEqual([before.length, list.length]);
    expect(scope.state.contextMutable()).toBe(list);
    expect(seen).toBeLessThan(before.length);
    expect(list[0]).toBe(before[0]);
    expect(list[1]?.kind).toBe('summary');
    expect(list.slice(2)).toEqual(before.slice(2 - seen));
    expect(scope.state.summary).toContain('sessions/s1.log.jsonl');
    assertPaired(list);
    expect(scope.checkpoints).toBe(1);
    const [compacting, done] = scope.events;
    expect(compacting).toMatchObject({
      type: 'context.compacting',
      reason: 'proactive_budget',
      strategy: 'auto',
      messagesBefore: 61,
    });
    expect(done).toMatchObject({
      type: 'context.compacted',
      status: 'applied',
      stagesUsed: 'summarize',
      messagesBefore: 61,
      messagesAfter: seen,
    });
    expect(done).toHaveProperty(
      'manifest',
      before.slice(1, 2 - seen).map(({ id }) => ({ messageId: id, fate: 'summarized', stage: 'summarize' })),
    );
  });

  it('has the agent’s own model write the summary, a dedicated one when it is named, none for null', async () => {
    const own = modelOf(() => GOOD_SUMMARY);
    const dedicated = modelOf(() => GOOD_SUMMARY);
    await step(compaction(small), scopeOf(long(), { model: own }));
    expect(own.requests).toHaveLength(1);
    await step(compaction({ ...small, model: dedicated }), scopeOf(long(), { model: own }));
    expect(dedicated.requests).toHaveLength(1);
    const native = { ...own, compact: () => Promise.reject(new Error('called')) };
    const scope = scopeOf(long(), { model: native });
    await step(compaction(recorded), scope);
    expect(own.requests).toHaveLength(1);
    expect(compacted(scope)).toMatchObject([{ message: 'reduced by summarize' }]);
  });

  it.each([40, 900, 4_000])(
    'leaves results that no model has seen, at %i lines each, as far as the window holds them',
    async (count) => {
      const scope = scopeOf([...long(), ...rounds(1), ...rounds(1, () => ({ output: lines(count) }))]);
      const unseen = at(scope.state.context, -1);
      let tokens = 0;
      await step(compaction(recorded), scope, async () => {
        tokens = meter.messages(scope.state.context);
        return answer;
      });
      expect(compacted(scope)).toMatchObject([{ status: 'applied' }]);
      expect(tokens).toBeLessThan(small.contextWindow * 0.9);
      const last = at(scope.state.context, -1);
      expect(last === unseen).toBe(count < 4_000);
      expect(last.id).toBe(unseen.id);
      expect(textOf(last)).toContain('line 0\n');
      expect(textOf(last)).toContain(`line ${count - 1}`);
    },
  );

  it('carries the plan mechanically, once, over chains', async () => {
    const scope = scopeOf(long());
    scope.state.planModeContext = { active: false, planFile: 'plans/draft.md' };
    const capability = compaction(recorded);
    await step(capability, scope);
    scope.state.planModeContext = { active: false, planFile: 'plans/login.md' };
    scope.state.contextMutable().push(...rounds(30, () => ({ output: lines(40) })));
    await step(capability, scope);
    expect(compacted(scope)).toMatchObject([{ status: 'applied' }, { status: 'applied' }]);
    const summary = scope.state.summary ?? '';
    expect(summary).toContain('Plan: plans/login.md');
    expect(summary).not.toContain('plans/draft.md');
    expect(summary.match(/CONVERSATION_SUMMARY\]/g)).toHaveLength(2);
  });

  it('changes nothing when the log cannot be written', async () => {
    const scope = scopeOf(long());
    const before = [...scope.state.context];
    scope.log.append = async () => {
      throw new Error('disk full');
    };
    await step(compaction(recorded), scope);
    expect(scope.state.context).toEqual(before);
    expect(compacted(scope)).toMatchObject([
      { status: 'failed', message: expect.stringContaining('disk full') },
    ]);
  });

  it('puts the conversation back when the checkpoint fails, and lets the failure through', async () => {
    const conflict = new SessionConflictError({ sessionKey: 's1', expected: 'token', actualVersion: 2 });
    const scope = scopeOf(long(), { checkpoint: () => Promise.reject(conflict) });
    const before = [...scope.state.context];
    await expect(step(compaction(recorded), scope)).rejects.toBe(conflict);
    expect(scope.state.context).toEqual(before);
    expect(compacted(scope)).toMatchObject([{ status: 'failed' }]);
  });

  it('keeps messages that arrive while it waits for the model, once and in order', async () => {
    const late = [userMessage('wait'), assistantMessage('yes?')];
    const scope = scopeOf(long());
    const capability = compaction({
      ...small,
      model: modelOf(async () => {
        scope.state.contextMutable().push(...late);
        return GOOD_SUMMARY;
      }),
    });
    await step(capability, scope);
    expect(scope.state.context.slice(-2)).toEqual(late);
    expect(scope.state.context.filter((message) => late.includes(message))).toHaveLength(2);
    expect(scope.state.summary).toContain('Read the code');
  });

  it('keeps messages that arrive during an early reduction too', async () => {
    const scope = scopeOf(rounds(5, () => ({ output: lines(40) })));
    const late = userMessage('wait');
    const slow: Stage = {
      name: 'slow',
      cost: 'free',
      isDueEarly: () => true,
      async reduce(view) {
        scope.state.contextMutable().push(late);
        const fates = view.messages
          .slice(0, 4)
          .map(({ id }) => ({ messageId: id, fate: 'dropped' as const }));
        return { messages: view.messages.slice(4), fates };
      },
    };
    await step(compaction({ stages: [slow] }), scope);
    expect(scope.state.context.at(-1)).toBe(late);
    expect(scope.state.context).toHaveLength(7);
    expect(compacted(scope)).toMatchObject([{ status: 'applied', messagesBefore: 10, messagesAfter: 6 }]);
  });

  it('does not announce again and again what a strategy cannot do', async () => {
    const scope = scopeOf(rounds(30, () => ({ output: lines(40) })));
    const capability = compaction({ ...small, stages: ['mask_outputs', 'drop_oldest'] });
    for (let index = 0; index < 20; index++) {
      scope.state.contextMutable().push(...rounds(1));
      await step(capability, scope);
    }
    expect(compacted(scope).length).toBeLessThan(8);
    expect(compacted(scope)[0]).toMatchObject({ status: 'applied', stagesUsed: 'mask_outputs' });
  });

  it('discards its result when somebody else rewrote the conversation meanwhile', async () => {
    const scope = scopeOf(long());
    const rewritten = [userMessage('all new')];
    const capability = compaction({
      ...small,
      model: modelOf(() => {
        scope.state.contextMutable().splice(0, Number.POSITIVE_INFINITY, ...rewritten);
        return GOOD_SUMMARY;
      }),
    });
    await step(capability, scope);
    expect(scope.state.context).toEqual(rewritten);
    expect(compacted(scope)).toMatchObject([{ status: 'failed' }]);
  });

  it('stops at once when the call is interrupted, with the conversation as it was', async () => {
    const controller = new AbortController();
    const scope = scopeOf(long(), { signal: controller.signal });
    const before = [...scope.state.context];
    const model = modelOf(() => {
      controller.abort();
      throw controller.signal.reason;
    });
    await step(compaction({ ...small, model }), scope);
    expect(scope.state.context).toEqual(before);
    expect(compacted(scope)).toMatchObject([{ status: 'aborted' }]);
  });

  it('does not try again after a run without effect, until something worth it is added', async () => {
    const request = userMessage('word '.repeat(9_000));
    const scope = scopeOf([request]);
    const capability = compaction({ contextWindow: 20_000, trigger: { tokens: 5_000 }, model: null });
    await step(capability, scope);
    await step(capability, scope);
    expect(compacted(scope)).toHaveLength(1);
    expect(compacted(scope)).toMatchObject([{ status: 'ineffective' }]);
    scope.state.contextMutable().push(assistantMessage('hm'));
    await step(capability, scope);
    expect(compacted(scope)).toHaveLength(1);
    scope.state.contextMutable().push(assistantMessage('word '.repeat(900)));
    await step(capability, scope);
    expect(compacted(scope)).toHaveLength(2);
  });

  it('tries again whatever is added, while the request exceeds the window', async () => {
    const scope = scopeOf([userMessage('word '.repeat(9_000))]);
    const capability = compaction({ contextWindow: 5_000, model: null });
    await step(capability, scope);
    await step(capability, scope);
    expect(compacted(scope)).toMatchObject([{ status: 'ineffective' }]);
    scope.state.contextMutable().push(assistantMessage('hm'));
    await step(capability, scope);
    expect(compacted(scope)).toHaveLength(2);
  });

  it('asks a hook that skips again once the request has grown', async () => {
    let asked = 0;
    const scope = scopeOf([userMessage('go'), ...rounds(10, () => ({ output: 'word '.repeat(100) }))]);
    const capability = compaction({
      contextWindow: 100_000,
      trigger: { tokens: 500 },
      beforeCompaction: () => ({ skip: ++asked > 0 }),
    });
    for (let index = 0; index < 22; index++) {
      await step(capability, scope);
      scope.state.contextMutable().push(assistantMessage('hm'));
    }
    expect(asked).toBeLessThanOrEqual(4);
  });

  it('warns once when the window is unknown, and assumes one', async () => {
    const { contextWindow: _, ...model } = modelOf(() => 'x');
    const scope = scopeOf(rounds(3), { model });
    const capability = compaction();
    await step(capability, scope);
    await step(capability, scope);
    const warnings = scope.events.filter((event) => event.type === 'warning');
    expect(warnings).toHaveLength(1);
    expect(at(warnings, 0).message).toContain('128000');
  });
});

describe('compaction, after an overflow', () => {
  const overflow = new ContextOverflowError();
  const failing = (times: number) => {
    let calls = 0;
    return {
      next: async () => {
        if (calls++ < times) throw overflow;
        return answer;
      },
      count: () => calls,
    };
  };

  it('reduces and makes the same call once more', async () => {
    const scope = scopeOf(rounds(8, () => ({ output: lines(300) })));
    const call = failing(1);
    await expect(step(compaction({ model: null }), scope, call.next)).resolves.toBe(answer);
    expect(call.count()).toBe(2);
    expect(compacted(scope)).toMatchObject([{ reason: 'request_too_large', status: 'applied' }]);
  });

  it('recovers a few huge messages, fewer than are kept by default', async () => {
    const scope = scopeOf([userMessage('look'), ...rounds(2, () => ({ output: 'data '.repeat(60_000) }))]);
    const call = failing(1);
    await step(compaction({ model: null }), scope, call.next);
    expect(call.count()).toBe(2);
    const [event] = compacted(scope);
    expect(event).toMatchObject({ status: 'applied' });
  });

  it('never loops: a second overflow goes to the caller', async () => {
    const scope = scopeOf(long());
    const call = failing(9);
    await expect(step(compaction({ model: null }), scope, call.next)).rejects.toBe(overflow);
    expect(call.count()).toBe(2);
  });

  it('lets the provider’s error through when a hook skips or nothing can be done', async () => {
    const skipping = failing(9);
    const scope = scopeOf(rounds(8));
    const capability = compaction({ beforeCompaction: () => ({ skip: true }) });
    await expect(step(capability, scope, skipping.next)).rejects.toBe(overflow);
    expect(skipping.count()).toBe(1);
    expect(compacted(scope)).toMatchObject([{ status: 'skipped' }]);

    const hopeless = failing(9);
    await expect(step(compaction(), scopeOf([userMessage('hi')]), hopeless.next)).rejects.toBe(overflow);
    expect(hopeless.count()).toBe(1);
  });

  it('knows a raw provider’s error for what it is', async () => {
    const scope = scopeOf(rounds(8, () => ({ output: lines(300) })));
    const raw = Object.assign(new Error('prompt is too long: 213462 tokens > 200000 maximum'), {
      status: 400,
    });
    let calls = 0;
    const next = () => (calls++ === 0 ? Promise.reject(raw) : Promise.resolve(answer));
    await expect(step(compaction({ model: null }), scope, next)).resolves.toBe(answer);
    expect(compacted(scope)).toMatchObject([{ reason: 'request_too_large', status: 'applied' }]);

    const limited = Object.assign(new Error('Request too large on tokens per min (TPM)'), { status: 429 });
    const other = scopeOf(rounds(8, () => ({ output: lines(300) })));
    await expect(step(compaction(), other, () => Promise.reject(limited))).rejects.toBe(limited);
    expect(other.events).toEqual([]);
  });

  it('leaves other errors alone', async () => {
    const scope = scopeOf(rounds(8));
    const error = new Error('rate limit');
    await expect(step(compaction(), scope, () => Promise.reject(error))).rejects.toBe(error);
    expect(scope.events).toEqual([]);
  });
});

describe('compaction by hand', () => {
  it('takes instructions, from the caller and from the hook', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const scope = scopeOf(long(), { model });
    const capability = compaction({ beforeCompaction: () => ({ instructions: 'and the ticket ids' }) });
    const outcome = await capability.compact?.(scope, { instructions: 'Keep API decisions' });
    expect(outcome?.status).toBe('applied');
    expect(promptOf(model.requests[0])).toContain('Keep API decisions\\nand the ticket ids');
    expect(scope.events[0]).toMatchObject({ type: 'context.compacting', reason: 'manual' });
  });

  it('tells a provider that compacts itself what to keep, and carries the plan beside what it made', async () => {
    const asked: unknown[] = [];
    const model = modelOf(() => GOOD_SUMMARY, {
      compact: async ({ instructions }) => {
        asked.push(instructions);
        return { content: [{ type: 'opaque', provider: 'acme', data: 'sealed', tokens: 20 }] };
      },
    });
    const scope = scopeOf(long(), { model });
    scope.state.planModeContext = { active: false, planFile: 'plans/login.md' };
    const capability = compaction({ stages: ['native', 'summarize'] });
    await capability.compact?.(scope, { instructions: 'Keep the ports' });
    expect(asked).toEqual(['Keep the ports']);
    const [summary] = scope.state.context.filter(({ kind }) => kind === 'summary');
    expect(textOf(summary?.content ?? [])).toContain('plans/login.md');
    expect(JSON.stringify(summary)).toContain('sealed');
  });

  it('says that rules cannot follow instructions', async () => {
    for (const instructions of [undefined, 'keep the ports']) {
      const scope = scopeOf(long());
      await compaction({ model: null }).compact?.(scope, instructions ? { instructions } : {});
      const said = scope.events.flatMap((event) => (event.type === 'warning' ? [event.message] : []));
      expect(said).toEqual(instructions ? [expect.stringContaining('The instructions had no effect')] : []);
    }
  });

  it('condenses a short conversation too', async () => {
    const scope = scopeOf(rounds(4, () => ({ output: lines(100) })));
    const outcome = await compaction({ model: null }).compact?.(scope, {});
    expect(outcome?.status).toBe('applied');
    expect(scope.state.context.length).toBeLessThan(8);
  });

  it('tells the hooks what it does; one that throws is reported and ignored', async () => {
    const seen: unknown[] = [];
    const told: Message[] = [];
    const scope = scopeOf(long(), { beforeReduction: async (removed) => void told.push(...removed) });
    const capability = compaction({
      model: null,
      keep: { messages: 20 },
      beforeCompaction: (input) => {
        seen.push(input);
        throw new Error('broken hook');
      },
      afterCompaction: (result) => void seen.push(result),
    });
    await capability.compact?.(scope, {});
    expect(seen).toMatchObject([
      { forced: true, messageCount: 61, keepLast: 20, tokensUsed: expect.any(Number) },
      {
        success: true,
        messagesBefore: 61,
        messagesAfter: scope.state.context.length,
        summaryLength: scope.state.summary?.length,
      },
    ]);
    const { tokensUsed, contextPercent } = seen[0] as BeforeCompaction;
    expect(contextPercent).toBe(Math.round((tokensUsed / (scope.model.contextWindow ?? 0)) * 1_000) / 10);
    expect(told).toHaveLength(61 - (scope.state.context.length - 1));
    expect(scope.events).toContainEqual(
      expect.objectContaining({ type: 'warning', message: expect.stringContaining('broken hook') }),
    );
  });

  it('leaves plan, todos, permissions and other capabilities’ state as they are', async () => {
    const scope = scopeOf(long());
    scope.state.permissionContext = { mode: 'explore', allow: [], deny: [{ tool: 'rm' }], ask: [] };
    scope.state.extensions.memory = { watermark: 3 };
    const { extensions, ...head } = scope.state.head();
    await compaction({ model: null }).compact?.(scope, {});
    const { extensions: after, ...headAfter } = scope.state.head();
    expect(headAfter).toEqual(head);
    expect(after).toMatchObject(extensions as object);
  });
});

describe('what a step costs', () => {
  it('counts each message once, whatever the length of the history', async () => {
    let counted = 0;
    const counter = {
      name: 'spy',
      count(text: string) {
        counted++;
        return Math.ceil(text.length / 4);
      },
    };
    const capability = compaction({
      counter,
      model: null,
    });
    const scope = scopeOf([], { system: 'fixed', contextWindow: 1_000_000 } as never);
    const cost: number[] = [];
    for (let index = 0; index < 300; index++) {
      scope.state.contextMutable().push(...rounds(1));
      counted = 0;
      await step(capability, scope);
      cost.push(counted);
    }
    expect(Math.max(...cost.slice(200))).toBeLessThanOrEqual(Math.max(...cost.slice(0, 10)));
  });

  it('learns from reported usage how far the count is off, within bounds', async () => {
    const scope = scopeOf([userMessage('word '.repeat(2_000))]);
    const capability = compaction({ contextWindow: 8_000 });
    const reporting = (inputTokens: number) => async (): Promise<ModelResponse> => ({
      ...answer,
      usage: { inputTokens, outputTokens: 1 },
    });
    await step(capability, scope, reporting(5_000));
    const first = ratio(scope);
    expect(first).toBeGreaterThan(1.5);
    for (const impossible of [1_000_000, 4_280_000, 10]) await step(capability, scope, reporting(impossible));
    expect(ratio(scope)).toBe(first);
    expect(scope.events).toMatchObject([
      { type: 'warning', message: expect.stringContaining('reports 1000000 tokens for a request of about') },
    ]);
  });

  it('does not learn from a small request, to which the provider may have added a prompt', async () => {
    const scope = scopeOf([userMessage('hello')]);
    const capability = compaction({ contextWindow: 128_000 });
    await step(capability, scope, async () => ({ ...answer, usage: { inputTokens: 25, outputTokens: 1 } }));
    const messages = rounds(3, () => ({ output: 'word '.repeat(25_000) }));
    scope.state.contextMutable().push(...messages);
    await step(capability, scope);
    expect(compacted(scope)).toEqual([]);
    expect(scope.state.context.slice(1)).toEqual(messages);
  });

  it('warns once of a provider that steadily counts more than it should, also over many calls', async () => {
    const capability = compaction({ contextWindow: 200_000 });
    const events: unknown[] = [];
    const next = async (): Promise<ModelResponse> => ({
      ...answer,
      usage: { inputTokens: 42_000, outputTokens: 1 },
    });
    for (let index = 0; index < 12; index++) {
      const scope = scopeOf([userMessage('word '.repeat(20_000))]);
      await step(capability, scope, next);
      events.push(...scope.events);
    }
    expect(events).toMatchObject([
      { type: 'warning', message: expect.stringContaining('reports 2.1 times the tokens') },
    ]);
  });

  it('reduces earlier when usage shows that the count is too low', async () => {
    const messages = [userMessage('go'), ...rounds(12, () => ({ output: 'word '.repeat(500) }))];
    const scope = scopeOf(messages);
    const capability = compaction({ contextWindow: 12_000, model: null });
    await step(capability, scope, async () => ({
      ...answer,
      usage: { inputTokens: 15_000, outputTokens: 1 },
    }));
    expect(compacted(scope)).toHaveLength(0);
    await step(capability, scope);
    expect(compacted(scope)).toMatchObject([{ status: 'applied' }]);
  });
});

function ratio(scope: TestScope): number {
  const { calibration } = scope.state.extensions.compaction as { calibration: Record<string, number> };
  return calibration[scope.model.id] ?? Number.NaN;
}

describe('between reductions', () => {
  it('leaves the serialized prefix byte for byte the same, so that caches keep hitting', async () => {
    const capability = compaction({ contextWindow: 20_000, model: null });
    const scope = scopeOf([userMessage('work through the list')]);
    let previous: readonly Message[] = [];
    let version = 0;
    let rewrites = 0;
    for (let index = 0; index < 150; index++) {
      scope.state.contextMutable().push(
        ...rounds(1, () => ({
          name: index % 3 ? 'read_file' : 'write_file',
          input: { path: `f${index}`, content: 'z'.repeat(index % 3 ? 10 : 4_000) },
          output: lines(30 + (index % 50)),
        })),
      );
      await step(capability, scope, async () => {
        const now = [...scope.state.context];
        const reductions = compacted(scope).filter((event) => event.status === 'applied').length;
        if (reductions === version) {
          expect(JSON.stringify(now.slice(0, previous.length))).toBe(JSON.stringify(previous));
        } else rewrites++;
        version = reductions;
        previous = now;
        return said('next');
      });
    }
    expect(rewrites).toBeGreaterThan(2);
    // In batches: a rewrite every few steps at most, never a little every step.
    expect(rewrites).toBeLessThan(20);
    expect(scope.state.context.map(textOf)).toContain('work through the list');
  });
});

describe('what is told of stages', () => {
  it('names of an early reduction only the stages that did something', async () => {
    const early = (name: string, change: boolean): Stage => ({
      name,
      cost: 'free',
      isDueEarly: () => true,
      reduce: async (view) => {
        const [first, ...rest] = view.messages;
        if (!change || rest.length < 40 || !first) return { messages: view.messages, fates: [] };
        const removed = rest.slice(0, 2);
        const fates = removed.map(({ id }) => ({ messageId: id, fate: 'dropped' as const }));
        return { messages: [first, ...rest.slice(2)], fates };
      },
    });
    const stages = [early('idle', false), early('busy', true)];
    const scope = scopeOf(long());
    await step(compaction({ model: null, contextWindow: 200_000, stages }), scope);
    expect(compacted(scope)[0]).toMatchObject({ status: 'applied', message: 'reduced early by busy' });
  });

  it('warns once that a model offers no compaction of its own, where the stage was asked for', async () => {
    const warnings = async (stages: readonly ['native', 'summarize'] | undefined) => {
      const capability = compaction({ ...recorded, ...(stages ? { stages: [...stages] } : {}) });
      const told: string[] = [];
      for (let round = 0; round < 2; round++) {
        const scope = scopeOf(long());
        await step(capability, scope);
        for (const event of scope.events) {
          if (event.type === 'warning' && event.message.includes('native')) told.push(event.message);
        }
      }
      return told;
    };
    expect(await warnings(undefined)).toEqual([]);
    const [warning, ...others] = await warnings(['native', 'summarize']);
    expect(warning).toMatch(/not turned on for acme:large.*native_compaction: auto/);
    expect(others).toEqual([]);
  });

  it.each([
    [{ stages: ['native', 'summarize'] }, 'These stages still run: summarize.'],
    [{ stages: ['native', 'drop_oldest'] }, 'These stages still run: summarize, drop_oldest.'],
    [{ stages: ['native'], summary: { fallback: 'none' } }, 'No other stage reduces the conversation.'],
    [
      { preset: 'everruns', strategy: 'native' },
      'These stages still run: cut_unseen, summarize, drop_oldest.',
    ],
    [{ preset: 'everruns' }, undefined],
    [{}, undefined],
  ] satisfies [CompactionCapabilityConfig, string | undefined][])(
    'tells when the agent is built which stages act without native: %j',
    (config, words) => {
      const emitWarning = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
      const capability = compaction(config);
      const install = (model: Model) => capability.install?.({ model } as AgentComposition);
      install({ ...modelOf(() => ''), compact: async () => ({ content: [] }) });
      expect(emitWarning).not.toHaveBeenCalled();
      for (let agent = 0; agent < 2; agent++) install(modelOf(() => ''));
      const told = emitWarning.mock.calls.map(([message]) => message);
      emitWarning.mockRestore();
      expect(told).toEqual(words ? [expect.stringContaining(words)] : []);
    },
  );
});
