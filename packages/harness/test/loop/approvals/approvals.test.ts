import {
  AgentState,
  InMemorySession,
  type JsonValue,
  RuntimeContext,
  SessionKey,
  type ToolUseBlock,
  textOf,
} from '@x/core';
import { JsonSession } from '@x/core/node';
import { commitAt } from '@x/test-support';
import { describe, expect, it } from 'vitest';
import { type Decision, type Decisions, type HarnessAgent, pendingCalls } from '../../../src/index.js';
import { approvalsOf, digestOf } from '../../../src/loop/open-calls.js';
import { collect, decided, isPaired, scratch } from '../../support.js';
import { type Effects, FOUR, node, resultsIn } from './support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const key = SessionKey.of({ agentId: 'agent', sessionId: 's' });
const approve: Decision = { type: 'approve' };

const by = (agent: HarnessAgent, decisions: Decisions) => decided(agent, context, decisions);

function setup() {
  const effects: Effects = [];
  const shared = { session: new InMemorySession(), workspace: scratch(), effects };
  return { effects, shared };
}

/** A session whose last step waits for approval of `b` and `d`. */
async function waiting(setup_ = setup()) {
  const { agent } = node({ ...setup_.shared, script: [{ text: 'I will', ...FOUR }] });
  const reply = await agent.call('Go', context);
  return { ...setup_, reply, agent };
}

describe('a call that needs approval', () => {
  it('ends the reply with what waits and why, having run only what stands before it', async () => {
    const { effects, reply, agent } = await waiting();
    expect(reply).toMatchObject({ stopReason: 'permission_required', text: 'I will', steps: 1 });
    expect(reply.pendingCalls).toEqual([
      {
        ...{
          type: 'tool_use',
          id: 'b',
          name: 'pay',
          input: { what: '2' },
          reason: 'No rule allows pay.',
        },
        ...{ suggestion: { tool: 'pay', input: { what: '2' } }, askedAt: expect.any(String) },
        approvalId: expect.stringMatching(/^[0-9a-f]{12}$/),
      },
      expect.objectContaining({ id: 'd', name: 'pay' }),
    ]);
    expect(effects).toEqual(['look 1']);
    const state = await agent.state(context);
    expect(state && pendingCalls(state)).toEqual(reply.pendingCalls);
  });

  it('is announced, also to who streams', async () => {
    const { shared } = setup();
    const { agent } = node({ ...shared, script: [FOUR] });
    const events = await collect(agent.stream('Go', context));
    const [required] = events.filter(({ type }) => type === 'permission.required');
    expect(required).toMatchObject({ calls: [{ id: 'b' }, { id: 'd' }] });
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'permission_required' });
  });

  it('is run by another process once it is approved, with everything behind it', async () => {
    const directory = scratch();
    const effects: Effects = [];
    const workspace = scratch();
    const first = node({ session: new JsonSession({ directory }), workspace, effects, script: [FOUR] });
    await first.agent.call('Go', context);
    await first.agent.close();

    const second = node({
      session: new JsonSession({ directory }),
      workspace,
      effects,
      script: [{ text: 'Paid.' }],
    });
    const reply = await second.agent.resume(context, {
      decisions: await by(second.agent, { b: approve, d: approve }),
    });
    expect(reply).toMatchObject({ stopReason: 'completed', text: 'Paid.', pendingCalls: [] });
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3', 'pay 4']);
    expect(isPaired(second.model.requests[0]?.messages ?? [])).toBe(true);
    const state = await second.agent.state(context);
    expect(state?.permissionContext).toEqual({ allow: [], deny: [], ask: [] });
  });

  it('is not run when it is denied, and the model reads why', async () => {
    const { shared, effects } = await waiting();
    const { agent, model } = node({ ...shared, script: [{ text: 'I see.' }] });
    const decisions = { b: { type: 'deny', reason: 'Too expensive.' }, d: { type: 'deny' } } as const;
    await agent.resume(context, { decisions: await by(agent, decisions) });
    expect(effects).toEqual(['look 1', 'note 3']);
    expect(resultsIn(model)).toEqual({
      a: 'look 1: done',
      b: 'error: The user denied this call: Too expensive.',
      c: 'note 3: done',
      d: expect.stringContaining('error: The user denied this call. Do not try the same'),
    });
  });

  it('is run as it was edited, and the model reads how', async () => {
    const { shared, effects } = await waiting();
    const { agent, model } = node({ ...shared, script: [{ text: 'ok' }] });
    const decisions = { b: { type: 'edit', input: { what: '1 only' } }, d: approve } as const;
    await agent.resume(context, { decisions: await by(agent, decisions) });
    expect(effects).toEqual(['look 1', 'pay 1 only', 'note 3', 'pay 4']);
    expect(resultsIn(model).b).toBe(
      '[The user changed the input of this call before it ran, to {"what":"1 only"}]\npay 1 only: done',
    );
    // The model's own words stay as it said them.
    expect(JSON.stringify(model.requests[0]?.messages)).toContain('"input":{"what":"2"}');
  });

  it('goes on waiting while only others are decided; what was decided is kept', async () => {
    const { shared, effects } = await waiting();
    const later = node({ ...shared, script: [] });
    const reply = await later.agent.resume(context, { decisions: await by(later.agent, { d: approve }) });
    expect(reply).toMatchObject({ stopReason: 'permission_required', steps: 0, message: undefined });
    expect(reply.pendingCalls.map(({ id }) => id)).toEqual(['b']);
    expect(effects).toEqual(['look 1']);

    const last = node({ ...shared, script: [{ text: 'ok' }] });
    await last.agent.resume(context, { decisions: await by(last.agent, { b: approve }) });
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3', 'pay 4']);
  });

  it('is decided once: no later decision turns a denial into an approval', async () => {
    const { shared, effects } = await waiting();
    const early = node({ ...shared, script: [] }).agent;
    await early.resume(context, { decisions: await by(early, { d: { type: 'deny' } }) });
    const { agent } = node({ ...shared, script: [{ text: 'ok' }] });
    const reversed = await by(agent, { b: approve, d: approve });
    await expect(agent.resume(context, { decisions: reversed })).rejects.toMatchObject({
      code: 'not_pending',
    });
    expect(effects).toEqual(['look 1']);
    await agent.resume(context, { decisions: await by(agent, { b: approve }) });
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3']);
  });

  it('is allowed for always by a rule that the session keeps', async () => {
    const { shared, effects } = await waiting();
    const { agent } = node({ ...shared, script: [] });
    const events = await collect(
      agent.resumeStream(context, { decisions: await by(agent, { b: { type: 'approve', always: true } }) }),
    );
    // The other call that waits pays for something else.
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3']);
    const rule = { tool: 'pay', input: { what: '2' } };
    expect(events.find(({ type }) => type === 'permission.decided')).toMatchObject({
      call: { id: 'b' },
      decision: 'approved',
      rule,
    });
    const third = node({
      ...shared,
      script: [{ toolCalls: [{ name: 'pay', input: { what: '2' } }] }, { text: 'ok' }],
    });
    expect(await third.agent.call('And again', context)).toMatchObject({ stopReason: 'completed' });
    expect((await third.agent.state(context))?.permissionContext.allow).toEqual([rule]);
  });

  it('may be approved by a wider rule of the user’s own, and not by what is none', async () => {
    const { shared } = await waiting();
    const { agent } = node({ ...shared, script: [{ text: 'ok' }] });
    const always = async (rule: string) => ({
      decisions: await by(agent, { b: { type: 'approve', always: rule } }),
    });
    await expect(agent.resume(context, await always('pay('))).rejects.toThrow('.always');
    await agent.resume(context, await always('p*'));
    expect((await agent.state(context))?.permissionContext.allow).toEqual([{ tool: 'p*' }]);
  });

  it('stays waiting when its new input cannot be kept', async () => {
    const { shared, effects, reply } = await waiting();
    const { agent } = node({ ...shared, script: [] });
    let deep: JsonValue = {};
    for (let depth = 0; depth < 999; depth++) deep = { deep };
    const cyclic: Record<string, JsonValue> = {};
    cyclic.itself = cyclic;
    for (const input of [deep, cyclic, new Date() as never]) {
      const decisions = await by(agent, { b: { type: 'edit', input } });
      await expect(agent.resume(context, { decisions })).rejects.toThrow('decision.input');
    }
    expect(await agent.resume(context)).toMatchObject({ pendingCalls: reply.pendingCalls });
    expect(effects).toEqual(['look 1']);
  });

  it('is asked for again as it was without decisions', async () => {
    const { shared, effects, reply: first } = await waiting();
    const { agent } = node({ ...shared, script: [] });
    const reply = await agent.resume(context);
    expect(reply.stopReason).toBe('permission_required');
    expect(reply.pendingCalls).toEqual(first.pendingCalls);
    expect(effects).toEqual(['look 1']);
  });
});

describe('a decision', () => {
  it('on a call that does not wait is refused, and nothing is changed', async () => {
    const { shared } = await waiting();
    const before = JSON.stringify(await shared.session.load(key));
    const { agent } = node({ ...shared, script: [] });
    await expect(
      agent.resume(context, { decisions: await by(agent, { b: approve, x: approve }) }),
    ).rejects.toMatchObject({
      code: 'not_pending',
    });
    await expect(agent.resume(context, { decisions: await by(agent, { a: approve }) })).rejects.toMatchObject(
      {
        code: 'not_pending',
      },
    );
    await expect(
      agent.resume(context, { decisions: await by(agent, { b: { type: 'maybe' } as never }) }),
    ).rejects.toThrow('.type');
    const odd = JSON.parse('{"__proto__":{"type":"approve"}}');
    await expect(agent.resume(context, { decisions: odd })).rejects.toMatchObject({ code: 'not_pending' });
    expect(JSON.stringify(await shared.session.load(key))).toBe(before);
  });

  it('that comes a second time, after the call has ended, does not wait any more', async () => {
    const { shared, effects, reply } = await waiting();
    const { agent } = node({ ...shared, script: [{ text: 'Done.' }] });
    const decisions = Object.fromEntries(reply.pendingCalls.map(({ approvalId }) => [approvalId, approve]));
    await agent.resume(context, { decisions });
    const ran = [...effects];
    await expect(agent.resume(context, { decisions })).rejects.toMatchObject({ code: 'not_pending' });
    const other = RuntimeContext.of({ sessionId: 'none' });
    await expect(agent.resume(other, { decisions })).rejects.toMatchObject({ code: 'not_pending' });
    expect(pendingCalls(await agent.state(other))).toEqual([]);
    await expect(agent.resume(context)).rejects.toMatchObject({ code: 'nothing_to_resume' });
    expect(effects).toEqual(ran);
  });

  it('on a call holds for that call alone, whatever id a later call has', async () => {
    const { shared, effects, reply } = await waiting();
    const { agent } = node({
      ...shared,
      script: [{ toolCalls: [{ id: 'b', name: 'pay', input: { what: '9999' } }] }],
    });
    const decisions = Object.fromEntries(
      reply.pendingCalls.map(({ approvalId }) => [approvalId, approve] as const),
    );
    const later = await agent.resume(context, { decisions });
    const [pending] = later.pendingCalls;
    expect(pending).toMatchObject({ id: expect.stringMatching(/^b_[0-9a-f]{8}$/), input: { what: '9999' } });
    for (const late of [decisions, { b: approve }]) {
      await expect(agent.resume(context, { decisions: late })).rejects.toMatchObject({ code: 'not_pending' });
    }
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3', 'pay 4']);
  });

  it.each(['1', '2'])(
    'on one of two calls with the same id leaves the other waiting (second pays %s)',
    async (what) => {
      const { shared, effects } = setup();
      const twice = [
        { id: 'x', name: 'pay', input: { what: '1' } },
        { id: 'x', name: 'pay', input: { what } },
      ];
      const { agent } = node({ ...shared, script: [{ toolCalls: twice }, { text: 'ok' }] });
      const [first, second] = (await agent.call('Go', context)).pendingCalls;
      expect(first?.approvalId).not.toBe(second?.approvalId);
      const one = await agent.resume(context, { decisions: { [first?.approvalId ?? '']: approve } });
      expect(one.pendingCalls).toMatchObject([{ approvalId: second?.approvalId, input: { what } }]);
      expect(effects).toEqual(['pay 1']);
      await agent.resume(context, { decisions: { [second?.approvalId ?? '']: { type: 'deny' } } });
      expect(effects).toEqual(['pay 1']);
    },
  );

  it('that comes twice is carried out once', async () => {
    const { shared, effects, agent } = await waiting();
    const decisions = await by(agent, { b: approve, d: approve });
    const outcomes = await Promise.allSettled(
      ['x', 'y'].map((text) => node({ ...shared, script: [{ text }] }).agent.resume(context, { decisions })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3', 'pay 4']);
  });

  it('that comes twice is carried out once also where the store has no leases', async () => {
    const { shared, effects, agent } = await waiting();
    Object.defineProperty(shared.session, 'leases', { value: undefined });
    const decisions = await by(agent, { b: approve, d: approve });
    const outcomes = await Promise.allSettled(
      ['x', 'y'].map((text) => node({ ...shared, script: [{ text }] }).agent.resume(context, { decisions })),
    );
    expect(outcomes.map(({ status }) => status).sort()).toEqual(['fulfilled', 'rejected']);
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3', 'pay 4']);
  });

  it('whose process died is not carried out again: the model is told to check', async () => {
    const { shared, effects } = await waiting();
    const dying = node({ ...shared, script: [] });
    // The process is gone after the first payment: nothing it does from then on reaches the store.
    const commit = shared.session.commit.bind(shared.session);
    let commits = 0;
    // It hangs where it wants to store what it did; before that it could still reach the store.
    const died = new Promise<void>((resolve) => {
      shared.session.commit = (...change) => {
        if (commits++ === 0) return commit(...change);
        resolve();
        return new Promise(() => {});
      };
    });
    const decisions = await by(dying.agent, { b: approve, d: approve });
    // Long after this test the wait for the store ends, and the call with it.
    dying.agent.resume(context, { decisions }).catch(() => {});
    await died;
    expect(effects).toHaveLength(4);
    shared.session.commit = commit;
    Object.defineProperty(shared.session, 'leases', { value: undefined });

    const { agent, model } = node({ ...shared, script: [{ text: 'I check.' }] });
    const stored = await shared.session.load(key);
    expect(AgentState.fromParts(stored?.head, []).activeCall).toBeDefined();
    await agent.resume(context);
    expect(effects).toHaveLength(4);
    expect(resultsIn(model).b).toContain('The call may or may not have taken effect');
  });

  it('comes too late when the time is over: the call is denied, and the model reads so', async () => {
    const { shared, effects } = await waiting();
    const stored = await shared.session.load(key);
    if (!stored) throw new Error('The session is gone.');
    const head = JSON.parse(
      JSON.stringify(stored.head).replaceAll(/"askedAt":"[^"]+"/g, '"askedAt":"2020-01-01T00:00:00.000Z"'),
    );
    await commitAt(shared.session, key, {
      expectedVersion: stored.version,
      head,
      keep: stored.messages.length,
      append: [],
    });
    const { agent, model } = node({ ...shared, script: [{ text: 'ok' }], approvalTimeoutMs: 60_000 });
    const events = await collect(agent.resumeStream(context, { decisions: await by(agent, { b: approve }) }));
    expect(events.filter(({ type }) => type === 'permission.decided')).toMatchObject([
      { call: { id: 'b' }, decision: 'expired' },
      { call: { id: 'd' }, decision: 'expired' },
    ]);
    expect(effects).toEqual(['look 1', 'note 3']);
    expect(resultsIn(model).b).toBe(
      'error: Not run: nobody decided on this call in time. Ask again only if it is still needed.',
    );
  });
});

describe('a new message while calls wait', () => {
  it('denies them, and the model reads why before it reads the message', async () => {
    const { shared, effects } = await waiting();
    const { agent, model } = node({ ...shared, script: [{ text: 'Fine.' }] });
    const reply = await agent.call('Forget it', context);
    expect(reply.stopReason).toBe('completed');
    expect(effects).toEqual(['look 1']);
    const { b, c, d } = resultsIn(model);
    expect([b, d]).toEqual([expect.stringContaining('the user sent a new message'), b]);
    expect(c).toBe('error: Not run: the user continued before this call started.');
    const messages = model.requests[0]?.messages ?? [];
    expect(isPaired(messages)).toBe(true);
    expect(textOf(messages.at(-1) ?? [])).toBe('Forget it');
    expect((await agent.state(context))?.permissionContext).toEqual({ allow: [], deny: [], ask: [] });
  });

  it('comes after what is allowed along with it; what is left out is denied', async () => {
    const { shared, effects } = await waiting();
    const { agent, model } = node({ ...shared, script: [{ text: 'Fine.' }] });
    await agent.call('Only the first', context, { decisions: await by(agent, { b: approve }) });
    expect(effects).toEqual(['look 1', 'pay 2', 'note 3']);
    expect(resultsIn(model).d).toContain('the user sent a new message');
    const messages = model.requests[0]?.messages ?? [];
    expect(isPaired(messages)).toBe(true);
    expect(textOf(messages.at(-1) ?? [])).toBe('Only the first');
  });
});

describe('an interruption', () => {
  it('before the decisions are carried out closes every call', async () => {
    const { shared, effects } = await waiting();
    const { agent } = node({ ...shared, script: [] });
    const reply = await agent.resume(context, {
      decisions: await by(agent, { b: approve }),
      signal: AbortSignal.abort(),
    });
    expect(reply.stopReason).toBe('interrupted');
    expect(effects).toEqual(['look 1']);
    const state = await agent.state(context);
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(state && pendingCalls(state)).toEqual([]);
  });

  it('with a message keeps the message', async () => {
    const { shared } = await waiting();
    const { agent } = node({ ...shared, script: [] });
    const options = { decisions: await by(agent, { b: approve }), signal: AbortSignal.abort() };
    expect((await agent.call('Hello', context, options)).stopReason).toBe('interrupted');
    const state = await agent.state(context);
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(textOf(state?.context.at(-1) ?? [])).toBe('Hello');
  });

  it('of a call that was approved closes those that wait behind it', async () => {
    const { shared, effects } = await waiting();
    let interrupt = () => {};
    const { agent } = node({
      ...shared,
      script: [],
      onEvent: (event) => {
        if (event.type === 'tool.call' && event.call.name === 'note') interrupt();
      },
    });
    interrupt = () => void agent.interrupt(context);
    const reply = await agent.resume(context, { decisions: await by(agent, { b: approve }) });
    expect(reply).toMatchObject({ stopReason: 'interrupted', pendingCalls: [] });
    expect(effects.slice(0, 2)).toEqual(['look 1', 'pay 2']);
    const state = await agent.state(context);
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(state?.permissionContext.pending).toBeUndefined();
    await expect(agent.resume(context, { decisions: await by(agent, { d: approve }) })).rejects.toMatchObject(
      {
        code: 'not_pending',
      },
    );
  });

  it('has nothing to stop while calls wait: no process is busy with them', async () => {
    const { agent } = await waiting();
    expect(agent.interrupt(context)).toBe(false);
    const state = await agent.state(context);
    expect(state && pendingCalls(state)).toHaveLength(2);
  });

  it('by a shutdown keeps what waits, for the next process', async () => {
    const { shared, effects } = setup();
    let stop = () => {};
    const { agent } = node({
      ...shared,
      script: [FOUR],
      onEvent: (event) => {
        if (event.type === 'tool.call') stop();
      },
    });
    stop = () => void agent.close({ drainMs: 0 });
    const reply = await agent.call('Go', context);
    expect(reply.stopReason).toBe('shutdown');

    const next = node({ ...shared, script: [{ text: 'ok' }] });
    const resumed = await next.agent.resume(context, {
      decisions: await by(next.agent, { b: approve, d: { type: 'deny' } }),
    });
    expect(resumed.stopReason).toBe('completed');
    expect(effects.slice(-2)).toEqual(['pay 2', 'note 3']);
    expect(isPaired(next.model.requests[0]?.messages ?? [])).toBe(true);
  });
});

it('an approval is for the call that was shown, and for no other of its id', async () => {
  const call = (amount: number): ToolUseBlock => ({
    type: 'tool_use',
    id: 'call_0',
    name: 'pay',
    input: { amount },
  });
  const approved = {
    id: 'a',
    toolUseId: 'call_0',
    digest: digestOf(call(1)),
    askedAt: '',
    decision: approve,
  };
  const state = AgentState.create({ sessionId: 's' });
  state.permissionContext = { ...state.permissionContext, pending: [approved] };
  expect([...approvalsOf(state, [call(9999)]).keys()]).toEqual([]);
  expect([...approvalsOf(state, [call(9999), call(1)]).keys()]).toEqual([call(1)]);
});
