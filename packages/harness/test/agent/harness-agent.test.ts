import {
  type AgentEvent,
  type AgentState,
  type Capability,
  CapabilityError,
  ContextOverflowError,
  defineTool,
  InMemorySession,
  type Model,
  ModelError,
  RuntimeContext,
  SessionConflictError,
  SessionKey,
  SessionStoreError,
  textOf,
  toolResultsOf,
  userMessage,
} from '@x/core';
import { commitAt } from '@x/test-support';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, HarnessError } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ userId: 'alice', sessionId: 's-1' });

function echo(log: string[] = []) {
  return defineTool({
    name: 'echo',
    description: 'Says it again',
    readOnly: true,
    input: z.object({ text: z.string() }),
    execute: ({ text }) => {
      log.push(text);
      return `echo ${text}`;
    },
  });
}

function builder(model: ScriptedModel) {
  return HarnessAgent.builder().model(model).workspace(scratch()).settings({ retryDelayMs: 0 });
}

describe('call', () => {
  it('answers, and stores the conversation', async () => {
    const model = new ScriptedModel([{ text: 'Hi Alice' }]);
    const agent = builder(model).systemPrompt('Be kind.').build();
    const reply = await agent.call('Hello', context);
    expect(reply).toMatchObject({ text: 'Hi Alice', stopReason: 'completed', sessionId: 's-1', steps: 1 });
    expect(model.requests[0]?.system).toBe('Be kind.');
    const state = await agent.state(context);
    expect(state?.context.map((message) => [message.role, textOf(message)])).toEqual([
      ['user', 'Hello'],
      ['assistant', 'Hi Alice'],
    ]);
    expect(state?.activeCall).toBeUndefined();
    model.assertComplete();
  });

  it('runs tools until the model asks for none, every call paired with its result', async () => {
    const log: string[] = [];
    const model = new ScriptedModel([
      {
        toolCalls: [
          { name: 'echo', input: { text: 'a' } },
          { name: 'echo', input: { text: 'b' } },
        ],
      },
      { toolCalls: [{ name: 'echo', input: { text: 'c' } }] },
      { text: 'done' },
    ]);
    const agent = builder(model).tools(echo(log)).build();
    const reply = await agent.call('go', context);
    expect(reply.steps).toBe(3);
    expect(log).toEqual(['a', 'b', 'c']);
    for (const request of model.requests) expect(isPaired(request.messages)).toBe(true);
    expect(textOf(model.requests[1]?.messages.at(-1) ?? [])).toBe('echo b');
  });

  it('goes on in the next call, also of another agent on the same store', async () => {
    const store = new InMemorySession();
    const first = builder(new ScriptedModel([{ text: 'one' }]))
      .session(store)
      .build();
    await first.call('1', context);
    const model = new ScriptedModel([{ text: 'two' }]);
    await builder(model).session(store).build().call('2', context);
    expect(model.requests[0]?.messages.map((message) => textOf(message))).toEqual(['1', 'one', '2']);
  });

  it('keeps users and sessions apart', async () => {
    const store = new InMemorySession();
    const model = new ScriptedModel([{ text: 'a' }, { text: 'b' }, { text: 'c' }]);
    const agent = builder(model).session(store).build();
    await agent.call('from alice', context);
    await agent.call('from bob', RuntimeContext.of({ userId: 'bob', sessionId: 's-1' }));
    await agent.call('from alice again', RuntimeContext.of({ userId: 'alice', sessionId: 's-2' }));
    for (const request of model.requests) expect(request.messages).toHaveLength(1);
  });

  it('begins a new session without a session id, and says which', async () => {
    const agent = builder(new ScriptedModel([{ text: 'x' }, { text: 'y' }])).build();
    const [one, two] = [await agent.call('1'), await agent.call('2')];
    expect(one.sessionId).not.toBe(two.sessionId);
    expect((await agent.state(RuntimeContext.of({ sessionId: one.sessionId })))?.context).toHaveLength(2);
  });

  it('serializes calls of one session', async () => {
    const model = new ScriptedModel([{ text: 'first' }, { text: 'second' }]);
    const agent = builder(model).build();
    await Promise.all([agent.call('1', context), agent.call('2', context)]);
    expect(model.requests[1]?.messages.map((message) => textOf(message))).toEqual(['1', 'first', '2']);
  });

  it('stops after maxIterations, with the conversation paired', async () => {
    const again = { toolCalls: [{ name: 'echo', input: { text: 'x' } }] };
    const agent = builder(new ScriptedModel([again, again]))
      .tools(echo())
      .maxIterations(2)
      .build();
    const reply = await agent.call('go', context);
    expect(reply.stopReason).toBe('max_iterations');
    expect(isPaired((await agent.state(context))?.context ?? [])).toBe(true);
  });

  it('writes every message to the log', async () => {
    const model = new ScriptedModel([
      { toolCalls: [{ name: 'echo', input: { text: 'a' } }] },
      { text: 'done' },
    ]);
    const agent = builder(model).tools(echo()).build();
    await agent.call('go', context);
    const logged = [];
    for await (const message of agent.log(context).read()) logged.push(message);
    expect(logged).toEqual((await agent.state(context))?.context);
  });
});

describe('tools', () => {
  const run = async (
    tool: ReturnType<typeof echo> | undefined,
    name: string,
    input: object,
    timeoutMs = 0,
  ) => {
    const model = new ScriptedModel([{ toolCalls: [{ name, input: input as never }] }, { text: 'ok' }]);
    const built = builder(model).limits({ toolMs: timeoutMs });
    if (tool) built.tools(tool);
    await built.build().call('go', context);
    const [result] = toolResultsOf(model.requests[1]?.messages.at(-1) ?? userMessage(''));
    return { text: textOf(result ? [result] : []), isError: result?.isError };
  };

  it('answers an invalid input with the path of the bad field', async () => {
    const { text, isError } = await run(echo(), 'echo', { text: 7 });
    expect(isError).toBe(true);
    expect(text).toContain('text: ');
  });

  it('answers an unknown tool with those that there are', async () => {
    expect(await run(echo(), 'shout', {})).toEqual({
      text: 'There is no tool named "shout". Available: echo.',
      isError: true,
    });
  });

  it('answers a thrown error with its message', async () => {
    const failing = defineTool({
      name: 'fail',
      description: '',
      input: z.object({}),
      execute: () => {
        throw new Error('disk on fire');
      },
    });
    expect(await run(failing, 'fail', {})).toEqual({ text: 'disk on fire', isError: true });
  });

  it('gives up on a tool that ignores its time-out', async () => {
    const stuck = defineTool({
      name: 'stuck',
      description: '',
      input: z.object({}),
      execute: () => new Promise<string>(() => {}),
    });
    const { text, isError } = await run(stuck, 'stuck', {}, 5);
    expect(text).toBe(
      'stuck timed out after 5 ms (limits.toolMs; 0 for no limit). The call ran and may have taken effect. Check ' +
        'before you repeat it.',
    );
    expect(isError).toBe(true);
  });

  it('runs read-only tools side by side and others alone, in order', async () => {
    const trace: string[] = [];
    const tool = (name: string, readOnly: boolean) =>
      defineTool({
        name,
        description: '',
        readOnly,
        input: z.object({}),
        execute: async () => {
          trace.push(`${name} begins`);
          await new Promise((done) => setImmediate(done));
          trace.push(`${name} ends`);
          return name;
        },
      });
    const calls = ['r1', 'r2', 'w', 'r3'].map((name) => ({ name, input: {} }));
    const model = new ScriptedModel([{ toolCalls: calls }, { text: 'ok' }]);
    const agent = builder(model)
      .tools(tool('r1', true), tool('r2', true), tool('w', false), tool('r3', true))
      .build();
    await agent.call('go', context);
    expect(trace.slice(0, 2)).toEqual(['r1 begins', 'r2 begins']);
    expect(trace.slice(4)).toEqual(['w begins', 'w ends', 'r3 begins', 'r3 ends']);
    const results = model.requests[1]?.messages.flatMap(toolResultsOf).map((result) => result.toolName);
    expect(results).toEqual(['r1', 'r2', 'w', 'r3']);
  });
});

describe('failures', () => {
  it('retries a passing failure, then succeeds', async () => {
    const model = new ScriptedModel([{ error: new ModelError('busy', { retryable: true }) }, { text: 'ok' }]);
    const agent = builder(model).build();
    const events = await collect(agent.stream('go', context));
    expect(events.filter((event) => event.type === 'model.retrying')).toMatchObject([
      { attempt: 1, error: 'busy' },
    ]);
    expect((await agent.state(context))?.context.map((message) => textOf(message))).toEqual(['go', 'ok']);
  });

  it('passes on a lasting failure, with the conversation stored and the next call in order', async () => {
    const model = new ScriptedModel([{ error: new ModelError('no such model') }, { text: 'ok' }]);
    const agent = builder(model).build();
    await expect(agent.call('go', context)).rejects.toThrow('no such model');
    expect((await agent.state(context))?.context.map((message) => textOf(message))).toEqual(['go']);
    expect((await agent.resume(context)).text).toBe('ok');
  });

  it('passes on an overflow when nothing compacts, on call and on stream', async () => {
    const overflow = { error: new ContextOverflowError() };
    // The second call leaves out what the first one said, as that may be too large, and asks again.
    const agent = builder(new ScriptedModel([overflow, overflow, overflow])).build();
    await expect(agent.call('go', context)).rejects.toThrow(ContextOverflowError);
    await expect(collect(agent.stream('go', context))).rejects.toThrow(ContextOverflowError);
  });

  it('uses an answer whatever its usage says', async () => {
    const model = new ScriptedModel(
      Array.from({ length: 3 }, () => ({ text: 'Hello.', usage: { inputTokens: 140_000, outputTokens: 5 } })),
      { contextWindow: 128_000 },
    );
    const agent = builder(model).build();
    for (let turn = 0; turn < 3; turn++) expect((await agent.call('Hi', context)).text).toBe('Hello.');
  });

  it('fails the call when the session cannot be loaded, and never begins an empty one over it', async () => {
    const store = new InMemorySession();
    store.load = async () => {
      throw new SessionStoreError('session_unavailable', 'The store is down.');
    };
    const model = new ScriptedModel([]);
    await expect(builder(model).session(store).build().call('go', context)).rejects.toThrow(
      'The store is down.',
    );
    expect(model.requests).toHaveLength(0);
  });

  it('fails with a conflict when another writer stored the session meanwhile', async () => {
    const store = new InMemorySession();
    const key = SessionKey.of({ userId: 'alice', agentId: 'agent', sessionId: 's-1' });
    const model = new ScriptedModel([
      async () => {
        await commitAt(store, key, {
          expectedVersion: 'latest',
          head: { schemaVersion: 1, sessionId: 's-1' },
          keep: 0,
          append: [userMessage('from elsewhere')],
        });
        return { text: 'late' };
      },
    ]);
    await expect(builder(model).session(store).build().call('go', context)).rejects.toThrow(
      SessionConflictError,
    );
    expect((await store.load(key))?.messages.map((message) => textOf(message))).toEqual(['from elsewhere']);
  });

  it('refuses to compact without a capability that can', async () => {
    await expect(builder(new ScriptedModel([])).build().compact(context)).rejects.toThrow(CapabilityError);
  });
});

describe('interruption and resumption', () => {
  const interrupting = (agent: () => HarnessAgent) =>
    defineTool({
      name: 'interrupt',
      description: '',
      input: z.object({}),
      execute: () => {
        agent().interrupt(context);
        return new Promise<string>(() => {});
      },
    });

  it('closes what was running and can go on', async () => {
    const model = new ScriptedModel([
      {
        toolCalls: [
          { name: 'interrupt', input: {} },
          { name: 'interrupt', input: {} },
        ],
      },
      { text: 'back again' },
    ]);
    const agent: HarnessAgent = builder(model)
      .tools(interrupting(() => agent))
      .build();
    const reply = await agent.call('go', context);
    expect(reply.stopReason).toBe('interrupted');
    const state = await agent.state(context);
    expect(isPaired(state?.context ?? [])).toBe(true);
    expect(state?.context.flatMap(toolResultsOf).map((result) => result.isError)).toEqual([true, true]);
    expect((await agent.call('go on', context)).text).toBe('back again');
  });

  it('keeps the text that had been streamed', async () => {
    const model: Model = {
      id: 'slow',
      generate: () => new Promise(() => {}),
      async *stream({ signal }) {
        yield { type: 'text-delta', text: 'one two' };
        await new Promise((_, reject) => signal?.addEventListener('abort', () => reject(signal.reason)));
      },
    };
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).build();
    for await (const event of agent.stream('go', context)) {
      if (event.type === 'text.delta') agent.interrupt(context);
    }
    const last = (await agent.state(context))?.context.at(-1);
    expect(last).toMatchObject({ role: 'assistant', metadata: { interrupted: true } });
    expect(textOf(last ?? [])).toBe('one two');
  });

  it('keeps the text that had been streamed after an answer with parts that only its provider can read', async () => {
    const requests: unknown[] = [];
    const model: Model = {
      id: 'slow',
      generate: () => new Promise(() => {}),
      async *stream(request) {
        requests.push(request);
        yield { type: 'text-delta', text: 'one two' };
        if (requests.length > 1)
          await new Promise((_, reject) =>
            request.signal?.addEventListener('abort', () => reject(new Error('The request was aborted.'))),
          );
        const content = [
          { type: 'text', text: 'one two', providerMetadata: { own: { id: 'i-1' } } },
        ] as const;
        yield { type: 'response', response: { content, finishReason: 'stop' } };
      },
    };
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).build();
    for await (const _ of agent.stream('first', context));
    const events: string[] = [];
    for await (const event of agent.stream('go', context)) {
      events.push(event.type);
      if (event.type === 'text.delta') agent.interrupt(context);
    }
    expect(events).not.toContain('draft.discarded');
    const last = (await agent.state(context))?.context.at(-1);
    expect(last).toMatchObject({ role: 'assistant', metadata: { interrupted: true } });
    expect(requests).toHaveLength(2);
  });

  it('interrupts when the consumer of a stream leaves', async () => {
    const model = new ScriptedModel([{ toolCalls: [{ name: 'echo', input: { text: 'a' } }] }]);
    const agent = builder(model)
      .tools({ ...echo(), run: () => new Promise(() => {}) })
      .build();
    for await (const event of agent.stream('go', context)) if (event.type === 'tool.call') break;
    expect(isPaired((await agent.state(context))?.context ?? [])).toBe(true);
    expect(model.requests).toHaveLength(1);
  });

  it('resumes where a crash left it, and tells the model what has no result', async () => {
    const store = new InMemorySession();
    const workspace = scratch();
    // A process that dies while a tool runs: its last checkpoint holds a call without a result.
    const doomed = new ScriptedModel([{ toolCalls: [{ name: 'echo', input: { text: 'a' }, id: 'call-1' }] }]);
    const dead = HarnessAgent.builder()
      .model(doomed)
      .workspace(workspace)
      .session(store)
      .tools({ ...echo(), readOnly: false, run: () => new Promise(() => {}) })
      .build();
    const stream = dead.stream('go', context);
    for (;;) {
      const { done, value } = await stream.next();
      if (done || value.type === 'tool.call') break;
    }
    // What was stored by then; the lease ended with the process.
    const left = new InMemorySession();
    const key = SessionKey.of({ userId: 'alice', agentId: 'agent', sessionId: 's-1' });
    const { head = {}, messages = [] } = (await store.load(key)) ?? {};
    await commitAt(left, key, { expectedVersion: 0, head, keep: 0, append: messages });
    const model = new ScriptedModel([{ text: 'I see it was cut off' }]);
    const agent = HarnessAgent.builder()
      .model(model)
      .workspace(workspace)
      .session(left)
      .tools(echo())
      .build();
    expect((await agent.state(context))?.activeCall).toBeDefined();
    const reply = await agent.resume(context);
    expect(reply.text).toBe('I see it was cut off');
    expect(isPaired(model.requests[0]?.messages ?? [])).toBe(true);
    expect(textOf(model.requests[0]?.messages.at(-1) ?? [])).toContain('may or may not have taken effect');
    expect((await agent.state(context))?.activeCall).toBeUndefined();
  });

  it('has nothing to resume in a session that ended, or never was', async () => {
    const agent = builder(new ScriptedModel([{ text: 'bye' }])).build();
    await expect(agent.resume(context)).rejects.toThrow(HarnessError);
    await agent.call('hi', context);
    await expect(agent.resume(context)).rejects.toMatchObject({ code: 'nothing_to_resume' });
  });
});

describe('close', () => {
  it.each(['close', 'erase'] as const)('goes on behind capabilities whose %s fails', async (hook) => {
    const done: string[] = [];
    const fails = (name: string): Capability => ({
      name,
      [hook]: async () => {
        throw new Error(`${name} failed`);
      },
    });
    const last: Capability = { name: 'last', [hook]: async () => void done.push(hook) };
    const build = (...capabilities: readonly Capability[]) =>
      HarnessAgent.builder()
        .model(new ScriptedModel([]))
        .workspace(scratch())
        .use(...capabilities)
        .build();
    const run = (agent: HarnessAgent) =>
      hook === 'close' ? agent.close() : agent.eraseUser({ userId: 'u' });
    await expect(run(build(fails('one'), last))).rejects.toThrow('one failed');
    await expect(run(build(fails('one'), fails('two'), last))).rejects.toThrow('one failed; two failed');
    expect(done).toEqual([hook, hook]);
  });

  it('exports what work in the background of a call is about to write, and nothing amid a call', async () => {
    let write = () => {};
    const late: Capability = {
      name: 'late',
      async aroundCall({ background, storage }, next) {
        const written = new Promise<void>((resolve) => {
          write = resolve;
        });
        background('late', async () => {
          await written;
          await storage.write('users/u/agents/agent/memory/late.md', 'late');
        });
        await next();
        expect(await exported().catch(({ code }) => code)).toBe('lease_unavailable');
      },
    };
    const agent = HarnessAgent.builder()
      .name('agent')
      .model(new ScriptedModel([{ text: 'Done.' }]))
      .workspace(scratch())
      .use(late)
      .build();
    const exported = async () => {
      const paths: string[] = [];
      for await (const record of agent.exportUser({ userId: 'u' }))
        if (record.type === 'file') paths.push(record.path);
      return paths;
    };
    await agent.call('Hi', RuntimeContext.of({ userId: 'u', sessionId: 's' }));
    const reading = exported();
    write();
    expect((await reading).join()).toContain('late.md');
    await agent.close();
  });

  it('erases and exports a user while work of other users runs in the background', async () => {
    let end = () => {};
    const ended = new Promise<void>((resolve) => {
      end = resolve;
    });
    const agent = HarnessAgent.builder()
      .model(new ScriptedModel([{ text: 'Done.' }, { text: 'Done.' }]))
      .workspace(scratch())
      .limits({ closeMs: 0 })
      .use({
        name: 'late',
        async aroundCall({ background, state }, next) {
          if (state.userId === 'other') background('late', () => ended);
          await next();
        },
      })
      .build();
    for (const userId of ['other', 'u'])
      await agent.call('Hi', RuntimeContext.of({ userId, sessionId: 's' }));
    const exported = new Set<string>();
    for await (const { type } of agent.exportUser({ userId: 'u' })) exported.add(type);
    expect(exported).toContain('session');
    expect(await agent.eraseUser({ userId: 'u' })).toMatchObject({ sessions: 1, busy: [] });
    end();
    await agent.close();
  });

  it('erases nothing of capabilities while a call of the user runs in another process', async () => {
    const session = new InMemorySession();
    const workspace = scratch();
    let erased = 0;
    const erase: Capability = {
      name: 'erase',
      async erase() {
        erased++;
      },
    };
    const agentWith = (model: ScriptedModel) =>
      HarnessAgent.builder().name('agent').model(model).workspace(workspace).session(session).use(erase);
    // A second agent knows of the first one's call only by the lease, as another process does.
    const other = agentWith(new ScriptedModel([])).build();
    const meet = defineTool({
      name: 'meet',
      description: '',
      input: z.object({}),
      execute: async () => {
        expect(await other.eraseUser({ userId: 'u' })).toMatchObject({ files: 0, busy: [{}] });
        return `${erased}`;
      },
    });
    const model = new ScriptedModel([{ toolCalls: [{ name: 'meet', input: {} }] }, { text: 'Done.' }]);
    const agent = agentWith(model).tools(meet).build();
    const reply = await agent.call('Hi', RuntimeContext.of({ userId: 'u', sessionId: 's' }));
    expect([reply.text, erased]).toEqual(['Done.', 0]);
    expect(await other.eraseUser({ userId: 'u' })).toMatchObject({ sessions: 1, busy: [] });
    expect(erased).toBe(1);
    await Promise.all([agent.close(), other.close()]);
  });

  it('stops running calls so that they can be resumed, waits for background work, refuses new calls', async () => {
    const done: string[] = [];
    const store = new InMemorySession();
    const model = new ScriptedModel([{ toolCalls: [{ name: 'wait', input: {} }] }]);
    const agent: HarnessAgent = builder(model)
      .session(store)
      .tools(
        defineTool({
          name: 'wait',
          description: '',
          input: z.object({}),
          execute: () => {
            void agent.close({ drainMs: 0 });
            return new Promise<string>(() => {});
          },
        }),
      )
      .use({
        name: 'background',
        async aroundCall(scope, next) {
          scope.background('work', async () => {
            await new Promise((resolve) => setImmediate(resolve));
            done.push('background');
          });
          await next();
        },
        close: async () => {
          done.push('closed');
        },
      })
      .build();
    const reply = await agent.call('go', context);
    await agent.close();
    expect(reply.stopReason).toBe('shutdown');
    expect(done).toEqual(['background', 'closed']);
    await expect(agent.call('more', context)).rejects.toMatchObject({ code: 'agent_closed' });

    const next = builder(new ScriptedModel([{ text: 'resumed' }]))
      .session(store)
      .build();
    expect((await next.resume(context)).text).toBe('resumed');
  });
});

describe('stream', () => {
  it('tells what happens, in order', async () => {
    const model = new ScriptedModel([
      { text: 'let me see', toolCalls: [{ name: 'echo', input: { text: 'a' } }] },
      { text: 'done' },
    ]);
    const events = await collect(builder(model).tools(echo()).build().stream('go', context));
    const types = events.map((event) => event.type).filter((type) => !type.endsWith('.delta'));
    expect(types).toEqual([
      'call.started',
      'message.added',
      'model.started',
      'message.added',
      'model.completed',
      'tool.call',
      'tool.result',
      'message.added',
      'model.started',
      'message.added',
      'model.completed',
      'call.completed',
    ]);
    expect(
      events.every((event: AgentEvent) => event.sessionId === 's-1' && !Number.isNaN(Date.parse(event.at))),
    ).toBe(true);
  });

  it('measures what fills the window', async () => {
    const model = new ScriptedModel(
      [{ toolCalls: [{ name: 'echo', input: { text: 'a' } }] }, { text: 'done' }],
      {
        contextWindow: 9_000,
      },
    );
    const events = await collect(
      builder(model).systemPrompt('Be kind.').tools(echo()).build().stream('go', context),
    );
    const usages = events.flatMap((event) => (event.type === 'model.started' ? [event.context] : []));
    expect(usages).toHaveLength(2);
    for (const usage of usages) {
      const { total, contextWindow, ...parts } = usage;
      expect(Object.values(parts).reduce((sum, tokens) => sum + tokens, 0)).toBe(total);
      expect(contextWindow).toBe(9_000);
    }
    expect(usages[0]?.toolResults).toBe(0);
    expect(usages[1]?.toolResults).toBeGreaterThan(0);
  });
});

it('refuses a change of the state that is made later', async () => {
  const agent = builder(new ScriptedModel([])).build();
  const late = async (state: AgentState) => {
    state.title = 'late';
  };
  await expect(agent.updateState(context, late)).rejects.toThrow(
    'change: must change the state synchronously',
  );
  expect(await agent.state(context)).toBeUndefined();
});
