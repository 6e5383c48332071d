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
import { takeTurn } from '@x/core/internal';
import { type SessionChange, wrapStore } from '@x/core/store';
import { commitAt, takeLease } from '@x/test-support';
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
  return Object.defineProperty(new InMemorySession(), 'leases', { value: undefined });
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
    const turn = await takeTurn(store, key);
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
    await turn.release();
  });

  /** A store to which this process cannot beat while it is `silent`. */
  function silencing() {
    const inner = new InMemorySession();
    const { leases } = inner;
    const link = { silent: false, commits: [] as SessionChange[] };
    const beat: typeof leases.processes.beat = async (...given) => {
      if (link.silent) throw new Error('no answer');
      return leases.processes.beat(...given);
    };
    const store = wrapStore(inner, {
      leases: { ...leases, processes: { ...leases.processes, beat } },
      commit: (sessionKey, change) => {
        link.commits.push(change);
        return inner.commit(sessionKey, change);
      },
    });
    return { inner, store, link };
  }

  it('that another process takes end the call, and nothing is written any more', async () => {
    const { inner, store, link } = silencing();
    const stuck = defineTool({
      name: 'stuck',
      description: '',
      input: z.object({}),
      execute: () => {
        link.silent = true;
        return new Promise<string>(() => {});
      },
    });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'stuck', input: {} }] }]);
    const events: string[] = [];
    const texts: string[] = [];
    const agent = builder(model, store)
      .tools(stuck)
      .checkpoint('call')
      .settings({ processTtlMs: 20 })
      .onEvent(async (event) => {
        events.push(event.type);
        if (event.type === 'message.added' && event.message.role === 'tool')
          texts.push(JSON.stringify(event.message.content));
        if (event.type !== 'turn.uncertain') return;
        const held = await inner.leases.find(key);
        await takeLease(inner, key, { over: held?.fence });
        link.silent = false;
      })
      .build();
    await expect(agent.call('one', context)).rejects.toMatchObject({
      code: 'lease_lost',
      message: expect.stringContaining('the process lost its turn to another one (process 1 on elsewhere)'),
    });
    expect(events.filter((type) => type === 'turn.uncertain')).toHaveLength(1);
    expect(events.at(-1)).toBe('call.failed');
    expect(texts).toEqual([expect.stringContaining('the process lost the session to another process')]);
    // What was said began the session.
    expect(link.commits.map(({ append }) => append.map(({ role }) => role))).toEqual([['user']]);
    expect(await collect(agent.log(context).read() as never)).toEqual([]);
  });

  it('that another process takes in a silence get nothing more into their log', async () => {
    const { inner, store, link } = silencing();
    let uncertain = () => {};
    const isUncertain = new Promise<void>((resolve) => {
      uncertain = resolve;
    });
    const pay = defineTool({
      name: 'pay',
      description: '',
      input: z.object({}),
      execute: async () => {
        link.silent = true;
        await isUncertain;
        return 'paid';
      },
    });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'In vain' }]);
    // One that outlives its process: the log is written at every checkpoint.
    const agent = builder(model, wrapStore(store, { reach: 'host' }))
      .tools(pay)
      .settings({ processTtlMs: 20 })
      .onEvent(async (event) => {
        if (event.type === 'tool.result') setTimeout(() => (link.silent = false), 50);
        if (event.type !== 'turn.uncertain' || event.isOver) return;
        const held = await inner.leases.find(key);
        await takeLease(inner, key, { over: held?.fence });
        uncertain();
      })
      .build();
    await expect(agent.call('one', context)).rejects.toMatchObject({ code: 'lease_lost' });
    const logged = await collect(agent.log(context).read() as never);
    expect((logged as unknown as { role: string }[]).map(({ role }) => role)).not.toContain('tool');
  });

  it.each(['effect', 'call'] as const)(
    'that nobody takes while the store is silent go on, and no effect begins meanwhile (checkpoint %s)',
    async (checkpoint) => {
      const { store, link } = silencing();
      const done: string[] = [];
      const use = (name: string, readOnly: boolean) =>
        defineTool({
          name,
          description: '',
          input: z.object({}),
          readOnly,
          execute: async () => {
            done.push(`${name}${link.silent ? ' in silence' : ''}`);
            return 'done';
          },
        });
      const events: unknown[] = [];
      let uncertain = () => {};
      const isUncertain = new Promise<void>((resolve) => {
        uncertain = resolve;
      });
      const model = new ScriptedModel([
        async () => {
          link.silent = true;
          await isUncertain;
          return { toolCalls: ['look', 'pay'].map((name) => ({ name, input: {} })) };
        },
        { text: 'paid' },
      ]);
      const agent = builder(model, store)
        .tools(use('look', true), use('pay', false))
        .checkpoint(checkpoint)
        .settings({ processTtlMs: 20 })
        .onEvent((event) => {
          if (event.type === 'turn.uncertain') events.push(event.isOver);
          if (event.type === 'turn.uncertain' && !event.isOver) uncertain();
          // Time for a tool to begin that does not wait.
          if (event.type === 'tool.result') setTimeout(() => Object.assign(link, { silent: false }), 50);
        })
        .build();
      expect(await agent.call('one', context)).toMatchObject({ text: 'paid', stopReason: 'completed' });
      expect(done).toEqual(['look in silence', 'pay']);
      expect(events).toEqual([false, true]);
    },
  );

  it('that somebody else took unnoticed are refused by the fence', async () => {
    const store = new InMemorySession();
    const model = new ScriptedModel([
      async () => {
        // The process is stopped for so long that another one takes over, and is then alive again.
        const held = await store.leases.find(key);
        const lease = await takeLease(store, key, { over: held?.fence });
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

  it('whose session is deleted end with session_deleted, and write nothing more', async () => {
    const store = new InMemorySession();
    const model = new ScriptedModel([
      async () => {
        await store.delete(key);
        return { text: 'late' };
      },
    ]);
    const events: string[] = [];
    const agent = builder(model, store)
      .onEvent(({ type }) => events.push(type))
      .build();
    await expect(agent.call('one', context)).rejects.toMatchObject({ code: 'session_deleted' });
    expect(events.at(-1)).toBe('call.failed');
    expect(await store.load(key)).toBeUndefined();
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

  it.each([{ turns: 'wait' }, { onConflict: 'win' }, { limits: { queueMs: -1 } }, { processTtlMs: 0 }])(
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
