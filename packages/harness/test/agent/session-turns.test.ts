import {
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  RuntimeContext,
  SessionKey,
  SessionLeaseError,
  type SessionStore,
  textOf,
  toolResultMessage,
  userMessage,
} from '@x/core';
import { systemClock } from '@x/core/internal';
import type { SessionChange, SessionLease } from '@x/core/store';
import { commitAt } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, HarnessConfigError } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's-1' });
const key = SessionKey.of({ agentId: 'agent', sessionId: 's-1' });

function builder(model: Model, store: SessionStore) {
  return HarnessAgent.builder().model(model).workspace(scratch()).session(store);
}

/** A model that answers when it is told to, and says when it was asked. */
function heldModel() {
  let answer = () => {};
  let ask = () => {};
  const asked = new Promise<void>((resolve) => {
    ask = resolve;
  });
  const released = new Promise<void>((resolve) => {
    answer = resolve;
  });
  const model = new ScriptedModel([
    async () => {
      ask();
      await released;
      return { text: 'first' };
    },
  ]);
  return { model, asked, answer };
}

/** A store without leases, as only one process can reach. */
function leaseless(): InMemorySession {
  return Object.defineProperty(new InMemorySession(), 'lease', { value: undefined });
}

const roles = async (store: SessionStore) =>
  (await store.load(key))?.messages.map((message) => textOf(message));

describe('turns', () => {
  it('of agents that share a store come one after the other', async () => {
    const store = new InMemorySession();
    const { model, asked, answer } = heldModel();
    const first = builder(model, store).build().call('one', context);
    await asked;
    const second = builder(new ScriptedModel([{ text: 'second' }]), store)
      .build()
      .call('two', context);
    answer();
    await Promise.all([first, second]);
    expect(await roles(store)).toEqual(['one', 'first', 'two', 'second']);
  });

  it.each(['one agent', 'two agents'])(
    'of %s say at once that a call waits, and not of one that need not',
    async (whose) => {
      const store = new InMemorySession();
      const { model, asked, answer } = heldModel();
      const agent = builder(model, store).build();
      const told: string[] = [];
      const first = agent.call('one', context, { onWait: () => told.push('one') });
      await asked;
      const other =
        whose === 'one agent' ? agent : builder(new ScriptedModel([{ text: 'second' }]), store).build();
      const second = other.call('two', context, { onWait: () => told.push('two') });
      await vi.waitFor(() => expect(told).toEqual(['two']));
      answer();
      await Promise.allSettled([first, second]);
      expect(told).toEqual(['two']);
    },
  );

  it.each([
    ['at once', { turns: 'reject' }],
    ['after the time-out', { turns: 'queue', limits: { queueMs: 1 } }],
  ] as const)(
    'that another process has are refused %s when so configured, and nothing is stored',
    async (_, settings) => {
      const store = new InMemorySession();
      const { model, asked, answer } = heldModel();
      const first = builder(model, store).build().call('one', context);
      await asked;
      const unasked = new ScriptedModel([]);
      const second = builder(unasked, store).settings(settings).build().call('two', context);
      await expect(second).rejects.toMatchObject({ code: 'lease_unavailable', sessionKey: key.toString() });
      expect(unasked.requests).toHaveLength(0);
      answer();
      await first;
      expect(await roles(store)).toEqual(['one', 'first']);
    },
  );

  it.each([
    ['with', new InMemorySession()],
    ['without', leaseless()],
  ])(
    'of one agent are refused on a store %s leases when it rejects, not those of other sessions',
    async (_, store) => {
      const { model, asked, answer } = heldModel();
      const agent = builder(model, store).turns('reject').build();
      const first = agent.call('one', context);
      await asked;
      await expect(agent.call('two', context)).rejects.toThrow(SessionLeaseError);
      answer();
      expect((await first).text).toBe('first');
      expect(await roles(store)).toEqual(['one', 'first']);
    },
  );

  it('are given up with the call, whatever ends it', async () => {
    const store = new InMemorySession();
    const failing = builder(new ScriptedModel([{ error: new Error('no network') }]), store).build();
    await expect(failing.call('one', context)).rejects.toThrow('no network');
    const agent = builder(new ScriptedModel([{ text: 'fine' }]), store)
      .turns('reject')
      .build();
    expect((await agent.call('two', context)).text).toBe('fine');
  });

  it('are no longer waited for when the agent closes, the caller aborts or the session is interrupted', async () => {
    const store = new InMemorySession();
    await store.lease(key, { ttlMs: 3_600_000 });
    const closing = builder(new ScriptedModel([]), store).build();
    const refused = expect(closing.call('one', context)).rejects.toMatchObject({ code: 'agent_closed' });
    // By now it waits: what is before that is no more than promises.
    setImmediate(() => closing.close());
    await refused;

    const agent = builder(new ScriptedModel([]), store).build();
    const abort = new AbortController();
    const aborted = agent.call('one', context, { signal: abort.signal });
    setImmediate(() => abort.abort());
    expect(await aborted).toMatchObject({ stopReason: 'interrupted', steps: 0 });
    const interrupted = agent.call('one', context);
    setImmediate(() => agent.interrupt(context));
    expect(await interrupted).toMatchObject({ stopReason: 'interrupted', steps: 0 });
    expect(await store.load(key)).toBeUndefined();
  });

  it('that are lost end the call, and nothing is written any more', async () => {
    const commits: SessionChange[] = [];
    class Losing extends InMemorySession {
      override async lease(
        ...parameters: Parameters<InMemorySession['lease']>
      ): Promise<SessionLease | undefined> {
        const lease = await super.lease(...parameters);
        // Somebody else has it by the first renewal.
        const renew = async () => {
          throw new SessionLeaseError('lease_lost', 'It was lost.', { sessionKey: key.toString() });
        };
        return lease && { ...lease, renew };
      }
      override commit(sessionKey: SessionKey, change: SessionChange) {
        commits.push(change);
        return super.commit(sessionKey, change);
      }
    }
    const stuck = defineTool({
      name: 'stuck',
      description: '',
      input: z.object({}),
      execute: () => new Promise<string>(() => {}),
    });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'stuck', input: {} }] }]);
    const events: string[] = [];
    const agent = builder(model, new Losing())
      .tools(stuck)
      .checkpoint('call')
      .settings({ leaseTtlMs: 3 })
      .onEvent(({ type }) => events.push(type))
      .build();
    await expect(agent.call('one', context)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(events.at(-1)).toBe('call.failed');
    // What was said began the session.
    expect(commits.map(({ append }) => append.map(({ role }) => role))).toEqual([['user']]);
    expect(await collect(agent.log(context).read() as never)).toEqual([]);
  });

  it('that somebody else took unnoticed are refused by the fence', async () => {
    let time = Date.now();
    const store = new InMemorySession({ clock: { ...systemClock, now: () => time } });
    const model = new ScriptedModel([
      async () => {
        // The process is stopped for so long that another one takes over, and is then alive again.
        time += 30_000;
        const lease = await store.lease(key, { ttlMs: 30_000 });
        await commitAt(store, key, {
          expectedVersion: 1,
          head: { schemaVersion: 1, sessionId: 's-1' },
          keep: 0,
          append: [userMessage('from elsewhere')],
          fence: lease?.fence,
        });
        return { text: 'late' };
      },
    ]);
    const events: string[] = [];
    const agent = builder(model, store)
      .onConflict('merge')
      .onEvent(({ type }) => events.push(type))
      .build();
    await expect(agent.call('one', context)).rejects.toMatchObject({ code: 'lease_lost' });
    expect(events.at(-1)).toBe('call.failed');
    expect(await roles(store)).toEqual(['from elsewhere']);
  });

  it.each(['lease_lost', 'lease_unavailable'] as const)(
    'of another session that fail a call with %s lose nothing of what was said',
    async (code) => {
      const store = new InMemorySession();
      const error = new SessionLeaseError(code, 'Of another.', { sessionKey: '/u/alice/other/s-1' });
      const model = new ScriptedModel([{ text: 'first' }, () => Promise.reject(error)]);
      const agent = builder(model, store).build();
      await agent.call('one', context);
      await expect(agent.call('two', context)).rejects.toBe(error);
      expect(await roles(store)).toEqual(['one', 'first', 'two']);
    },
  );
});

describe('conflicts', () => {
  it('are merged when so configured, with calls and results paired', async () => {
    const store = leaseless();
    const call = { type: 'tool_use', id: 'other-1', name: 'echo', input: {} } as const;
    const model = new ScriptedModel([
      async () => {
        await commitAt(store, key, {
          expectedVersion: 'latest',
          head: { schemaVersion: 1, sessionId: 's-1', planModeContext: { active: true } },
          keep: 0,
          append: [
            userMessage('from elsewhere'),
            { id: 'm', role: 'assistant', content: [call], createdAt: '2026-01-01T00:00:00.000Z' },
            toolResultMessage(call, 'done'),
          ],
        });
        return { text: 'here' };
      },
    ]);
    const agent = builder(model, store).onConflict('merge').build();
    expect(await agent.call('one', context)).toMatchObject({ text: 'here', stopReason: 'completed' });
    const state = await agent.state(context);
    expect(state?.context.map((message) => textOf(message))).toEqual([
      'from elsewhere',
      '',
      'done',
      'one',
      'here',
    ]);
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(state?.planModeContext.active).toBe(true);
  });

  it.each([{ turns: 'wait' }, { onConflict: 'win' }, { limits: { queueMs: -1 } }, { leaseTtlMs: 0 }])(
    'and turns cannot be configured as %j',
    (settings) => {
      const build = () =>
        builder(new ScriptedModel([]), new InMemorySession())
          .settings(settings as never)
          .build();
      expect(build).toThrow(HarnessConfigError);
    },
  );
});

it('a context leads to the session that the agent stored', async () => {
  const store = new InMemorySession();
  const agent = builder(new ScriptedModel([{ text: 'Hi' }]), store).build();
  await agent.call('Hello', context);
  expect((await store.load(agent.keyOf(context)))?.messages.map(textOf)).toEqual(['Hello', 'Hi']);
});

describe('a warning', () => {
  const begin = () => {
    const warned = vi.spyOn(process, 'emitWarning').mockImplementation(() => {});
    onTestFinished(() => warned.mockRestore());
    const warns: Capability = {
      name: 'warns',
      aroundCall(scope, next) {
        scope.emit({ type: 'warning', source: 'warns', message: 'Look here.' });
        return next();
      },
    };
    const agent = builder(new ScriptedModel([{ text: 'done' }]), new InMemorySession()).use(warns);
    return { warned, agent };
  };

  it('that nobody listens to is one of the process', async () => {
    const { warned, agent } = begin();
    await agent.build().call('Hi', context);
    expect(warned.mock.calls).toEqual([['warns: Look here.', { code: 'agent_warning' }]]);
  });

  it('is left to those who listen, or read the stream', async () => {
    const { warned, agent } = begin();
    const events = await collect(agent.build().stream('Hi', context));
    expect(events.some(({ type }) => type === 'warning')).toBe(true);
    const listening = begin();
    await listening.agent
      .onEvent(() => {})
      .build()
      .call('Hi', context);
    expect(warned.mock.calls).toEqual([]);
    expect(listening.warned.mock.calls).toEqual([]);
  });
});
