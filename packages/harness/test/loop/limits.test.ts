import {
  type AgentEvent,
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  ModelError,
  type ModelStreamPart,
  RuntimeContext,
  textOf,
  toolResultsOf,
} from '@x/core';
import { WorkspaceSessionLog } from '@x/core/node';
import { wrapStore } from '@x/core/store';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { afterEach, beforeEach, describe, expect, it, onTestFinished, vi } from 'vitest';
import * as z from 'zod';
import { HarnessAgent, shutdownOnSignals } from '../../src/index.js';
import { collect, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const never = new Promise<never>(() => {});
const CALL: ScriptEntry = { toolCalls: [{ name: 'slow', input: {} }] };

/** A model that ignores its signal. */
function stalling(id = 'stalling'): Model {
  return {
    id,
    generate: () => never,
    async *stream(): AsyncGenerator<ModelStreamPart> {
      yield { type: 'text-delta', text: 'Half a' };
      yield { type: 'text-delta', text: ' word' };
      await never;
    },
  };
}

function builder(model: Model = new ScriptedModel([{ text: 'one' }, { text: 'two' }])) {
  return HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(new InMemorySession())
    .settings({ maxRetries: 1, retryDelayMs: 0 });
}

function tool(timeoutMs?: number) {
  return defineTool({
    name: 'slow',
    description: 'Slow',
    input: { type: 'object' },
    ...(timeoutMs === undefined ? {} : { timeoutMs }),
    execute: () => new Promise<string>((resolve) => setTimeout(resolve, 20, 'done')),
  });
}

it.each(['limits.modelMs', 'limits.callMs', 'an interruption', 'a close'])(
  'ends an answer without end, whose parts are there at once, by %s',
  async (end) => {
    const part = { done: false as const, value: { type: 'text-delta' as const, text: 'y' } };
    const next = () => Promise.resolve(part);
    const endless: Model = { ...stalling(), stream: () => ({ [Symbol.asyncIterator]: () => ({ next }) }) };
    const limits = { [end.replace('limits.', '')]: 100 };
    const agent = builder(endless)
      .limits(end.startsWith('limits') ? limits : {})
      .settings({ maxRetries: 0 })
      .build();
    const { reply } = agent.stream('Hi', context);
    if (end === 'an interruption') setTimeout(() => agent.interrupt(context), 100);
    if (end === 'a close') setTimeout(() => agent.close({ drainMs: 0 }), 100);
    const stopReason = { 'an interruption': 'interrupted', 'a close': 'shutdown' }[end] ?? 'timed_out';
    expect(await reply).toMatchObject({ stopReason });
  },
);

it('ends a tool that tells of itself without ever waiting', async () => {
  const chatty = defineTool({
    name: 'slow',
    description: 'Tells without end',
    input: { type: 'object' },
    timeoutMs: 10,
    async *execute() {
      for (;;) yield 'still at it';
    },
  });
  const agent = builder(new ScriptedModel([CALL, { text: 'Given up' }]))
    .tools(chatty)
    .build();
  expect((await agent.call('Hi', context)).text).toBe('Given up');
  const results = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
  expect(JSON.stringify(results)).toContain('timed out');
});

describe('a model that stalls', () => {
  it.each([{ modelMs: 10 }, { callMs: 10 }])('ends the call as timed out: %j', async (limits) => {
    const agent = builder(stalling()).limits(limits).build();
    expect(await agent.call('Hi', context)).toMatchObject({ stopReason: 'timed_out', text: '' });
    expect((await agent.state(context))?.context.map(({ role }) => role)).toEqual(['user']);
    expect((await agent.state(context))?.activeCall).toBeUndefined();
  });

  it.each(['', 'x'])('and streams %j without ever waiting ends the call, too', async (text) => {
    const model: Model = {
      id: 'tight',
      generate: () => never,
      async *stream(): AsyncGenerator<ModelStreamPart> {
        for (;;) yield { type: 'text-delta', text };
      },
    };
    const events = await collect(builder(model).limits({ modelMs: 10 }).build().stream('Hi', context));
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'timed_out' });
  });

  it('in the middle of a stream leaves what it has said, and the session goes on', async () => {
    const models = [stalling(), new ScriptedModel([{ text: 'better' }])];
    const session = new InMemorySession();
    const agents = models.map((model) => builder(model).session(session).limits({ modelIdleMs: 10 }).build());
    const events = await collect(agents[0]?.stream('Hi', context) as AsyncIterable<AgentEvent>);
    expect(events.at(-1)).toMatchObject({ type: 'call.completed', stopReason: 'timed_out' });
    expect(events.some(({ type }) => type === 'model.retrying')).toBe(true);
    expect(events).toContainEqual(
      expect.objectContaining({ type: 'warning', message: expect.stringContaining('limits.modelIdleMs') }),
    );
    expect((await agents[1]?.call('And?', context))?.text).toBe('better');
    expect((await agents[1]?.state(context))?.context.map(textOf)).toEqual([
      'Hi',
      'Half a word',
      'And?',
      'better',
    ]);
  });

  it('without a first part is given up for the next model', async () => {
    const silent: Model = {
      id: 'silent',
      generate: () => never,
      stream: () => ({ [Symbol.asyncIterator]: () => ({ next: () => never }) }),
    };
    const agent = builder()
      .model(silent, { fallback: [new ScriptedModel([{ text: 'here' }])] })
      .limits({ modelFirstByteMs: 10 })
      .build();
    const events = await collect(agent.stream('Hi', context));
    expect(events).toContainEqual(expect.objectContaining({ type: 'model.fallback', from: 'silent' }));
    expect(events.at(-1)).toMatchObject({ stopReason: 'completed' });
  });

  it.each(['interrupt', 'close', 'SIGTERM'])('does not hold up %s', async (way) => {
    const session = new InMemorySession();
    const agent = builder(stalling()).session(session).build();
    let end: () => void = () => {};
    const exited = new Promise<number>((exit) => {
      const listeners: ((signal: string) => void)[] = [];
      const on = (_: string, listener: (signal: string) => void) => listeners.push(listener);
      shutdownOnSignals(agent, {
        signals: ['SIGTERM'],
        drainMs: 0,
        process: { on, off: () => {}, exit, emitWarning: () => {} } as never,
      });
      end = () => listeners[0]?.('SIGTERM');
    });
    const events = agent.stream('Hi', context);
    for await (const event of events) {
      if (event.type !== 'text.delta' || event.text !== ' word') continue;
      if (way === 'interrupt') expect(agent.interrupt(context)).toBe(true);
      else if (way === 'close') void agent.close({ drainMs: 0 });
      else end();
    }
    if (way === 'SIGTERM') expect(await exited).toBe(143);
    const next = builder(new ScriptedModel([{ text: 'on' }]))
      .session(session)
      .build();
    expect((await next.call('Go on', context)).text).toBe('on');
  });
});

describe('a hook that never ends', () => {
  const hooks: Readonly<Record<string, Partial<Capability>>> = {
    system: { system: () => never },
    remind: { remind: () => never },
    aroundCall: { aroundCall: () => never },
    'aroundCall behind next': { aroundCall: (_, next) => next().then(() => never) },
    aroundReason: { aroundReason: () => never },
    aroundModel: { aroundModel: () => never },
    aroundTool: { aroundTool: () => never },
  };
  for (const [name, hook] of Object.entries(hooks)) {
    it(`${name} ends the call within its limit, and after an interruption`, async () => {
      const model = () => new ScriptedModel([CALL, { text: 'done' }]);
      const one = (limits: object) =>
        builder(model())
          .tools(tool())
          .use({ name: 'odd', ...hook })
          .limits(limits)
          .build();
      const agent = one({ hookMs: 10, interruptMs: 1 });
      expect(await agent.call('Hi', context)).toMatchObject({ stopReason: 'timed_out' });
      expect((await agent.state(context))?.context.length).toBeGreaterThan(0);

      const stop = new AbortController();
      const other = one({ interruptMs: 1 });
      const reply = other.call('Hi', context, { signal: stop.signal });
      setTimeout(() => stop.abort(), 30);
      expect(await reply).toMatchObject({ stopReason: 'interrupted' });
    });
  }

  it('denies a tool call where it is authorize', async () => {
    const agent = builder(new ScriptedModel([CALL, { text: 'I see' }]))
      .tools(tool())
      .use({ name: 'odd', authorize: () => never })
      .limits({ hookMs: 10, interruptMs: 1 })
      .build();
    expect((await agent.call('Hi', context)).text).toBe('I see');
    const [result] = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
    expect(result?.isError).toBe(true);
  });

  it('is not charged for what it encloses', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.useRealTimers());
    let begin: (timer: unknown) => void = () => {};
    const begun = new Promise((resolve) => {
      begin = resolve;
    });
    const slow = { ...tool(0), run: () => new Promise<never[]>((end) => begin(setTimeout(end, 1_000, []))) };
    const reply = builder(new ScriptedModel([CALL, { text: 'done' }]))
      .tools(slow)
      .use({ name: 'odd', aroundCall: (_, next) => next(), aroundTool: (call, _, next) => next(call) })
      .limits({ hookMs: 10, interruptMs: 1 })
      .build()
      .call('Hi', context);
    await begun;
    await vi.advanceTimersByTimeAsync(1_000);
    expect(await reply).toMatchObject({ stopReason: 'completed' });
  });
});

describe('a function of the user that never ends', () => {
  const one = () =>
    builder(new ScriptedModel([CALL, { text: '{"a":1}' }]))
      .tools(tool())
      .limits({ hookMs: 10, interruptMs: 1 })
      .build();
  it.each([
    ['prepareStep', { prepareStep: () => never }],
    ['stopWhen', { stopWhen: () => never }],
    ['output', { output: z.object({ a: z.number() }).refine(() => never) }],
  ])('%s ends the call within the limit of hooks', async (_, options) => {
    expect(await one().call('Hi', context, options)).toMatchObject({ stopReason: 'timed_out' });
  });

  it('parse of a tool denies its call', async () => {
    const slow = { ...tool(), parse: () => never };
    const agent = builder(new ScriptedModel([CALL, { text: 'I see' }]))
      .tools(slow)
      .limits({ hookMs: 10, interruptMs: 1 })
      .build();
    expect((await agent.call('Hi', context)).text).toBe('I see');
    const [result] = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
    expect(textOf(result?.output ?? [])).toContain('limits.hookMs');
  });

  it.each(['compact', 'undo'] as const)('%s leaves the turn to the next call', async (name) => {
    const agent = builder()
      .use({ name: 'odd', compact: () => never, undo: () => never })
      .limits({ hookMs: 10, interruptMs: 1 })
      .build();
    await agent.call('Hi', context);
    await expect(agent[name](context)).rejects.toMatchObject({ code: 'timed_out', limit: 'limits.hookMs' });
    expect((await agent.call('Go on', context)).text).toBe('two');
  });

  it('get of the log leaves a repeated call with an error', async () => {
    const session = new InMemorySession();
    const agent = builder().session(session).limits({ storeMs: 30_000 }).build();
    await agent.call('Hi', context, { id: 'one' });
    await agent.updateState(context, (state) => void state.contextMutable().splice(0));
    const get = vi.spyOn(WorkspaceSessionLog.prototype, 'get').mockReturnValue(never);
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    onTestFinished(() => void vi.restoreAllMocks().useRealTimers());
    const repeated = expect(agent.call('Hi', context, { id: 'one' })).rejects.toMatchObject({
      limit: 'limits.storeMs',
    });
    while (get.mock.calls.length === 0) await new Promise((resolve) => setImmediate(resolve));
    await vi.advanceTimersByTimeAsync(30_000);
    await repeated;
  });
});

describe('limits of one call', () => {
  it.each([{ modelMs: 10 }, { callMs: 10 }])('take the place of the agent: %j', async (limits) => {
    const agent = builder(stalling()).limits({ modelMs: 0, callMs: 0 }).build();
    expect(await agent.call('Hi', context, { limits })).toMatchObject({ stopReason: 'timed_out' });
  });

  it('let a tool take longer than the agent does', async () => {
    const agent = builder(new ScriptedModel([CALL, { text: 'done' }]))
      .tools(tool())
      .limits({ toolMs: 1 })
      .build();
    await agent.call('Hi', context, { limits: { toolMs: Number.POSITIVE_INFINITY } });
    const [result] = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
    expect(textOf(result?.output ?? [])).toBe('done');
  });

  it('bound the wait for its turn', async () => {
    const agent = builder(stalling()).build();
    const long = agent.call('one', context);
    const short = agent.call('two', context, { limits: { queueMs: 10 } });
    await expect(short).rejects.toMatchObject({ code: 'lease_unavailable' });
    agent.interrupt(context);
    await long;
  });

  it.each([
    [{ modelMs: -1 }, 'limits.modelMs'],
    [{ storeMs: 10 }, 'storeMs'],
    [{ toolMs: Number.NaN }, 'limits.toolMs'],
  ])('are refused where they are wrong: %j', async (limits, path) => {
    await expect(
      builder()
        .build()
        .call('Hi', context, { limits: limits as object }),
    ).rejects.toThrow(path);
  });
});

describe('work in the background', () => {
  const working = (work: (signal: AbortSignal) => Promise<void>): Capability => ({
    name: 'flush',
    async aroundCall(scope, next) {
      scope.background('flush', work);
      await next();
    },
  });
  const untilAborted = (signal: AbortSignal) =>
    new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()));

  it.each([
    ['that heeds its signal', untilAborted],
    ['that never ends', () => never],
  ])('%s does not hold up close()', async (_, work) => {
    const agent = builder().use(working(work)).limits({ closeMs: 10, interruptMs: 1 }).build();
    await agent.call('Hi', context);
    await agent.close();
  });

  it('is told to end when its time is up, which is a warning', async () => {
    const warnings: AgentEvent[] = [];
    const agent = builder()
      .use(working(() => never))
      .limits({ backgroundMs: 5, interruptMs: 1 })
      .onEvent((event) => event.type === 'warning' && warnings.push(event))
      .build();
    await agent.call('Hi', context);
    await agent.close();
    expect(warnings).toMatchObject([{ message: expect.stringContaining('limits.backgroundMs') }]);
  });

  it('may be many at once, which is no sign of a leak', async () => {
    const warned = vi.spyOn(process, 'emitWarning');
    onTestFinished(() => void warned.mockRestore());
    const agent = builder()
      .use({
        name: 'busy',
        async aroundCall(scope, next) {
          for (let task = 0; task < 50; task++) scope.background('task', untilAborted);
          await next();
        },
      })
      .limits({ closeMs: 1 })
      .build();
    await agent.call('Hi', context);
    await agent.close();
    expect(warned).not.toHaveBeenCalled();
  });

  it('and a capability whose close never ends does not hold up the others', async () => {
    const closed = vi.fn(async () => {});
    const agent = builder()
      .use({ name: 'odd', close: () => never }, { name: 'even', close: closed })
      .limits({ closeMs: 10 })
      .build();
    await agent.close();
    expect(closed).toHaveBeenCalledOnce();
  });
});

describe('a store that stands still', () => {
  it.each([
    ['at the end of a call', () => ({ text: 'done' })],
    ['before a tool', () => CALL],
  ])('%s ends the call after one limit, whatever is left to ask of it', async (_, answer) => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout', 'performance'] });
    // A disk takes time of its own.
    vi.spyOn(WorkspaceSessionLog.prototype, 'append').mockResolvedValue();
    onTestFinished(() => void vi.restoreAllMocks().useRealTimers());
    const inner = new InMemorySession();
    let stopped = false;
    const hang = <Value>(task: () => Promise<Value>) => (stopped ? never : task());
    const store = wrapStore(inner, {
      load: (key, options) => hang(() => inner.load(key, options)),
      commit: (key, change) => hang(() => inner.commit(key, change)),
      leases: { ...inner.leases, release: (...given) => hang(() => inner.leases.release(...given)) },
    });
    const model = new ScriptedModel([
      () => {
        stopped = true;
        return answer();
      },
    ]);
    const agent = builder(model)
      .tools(tool())
      .session(store)
      .limits({ storeMs: 30_000, outageMs: 30_000 })
      .build();
    let end: unknown;
    agent.call('Hi', context).catch((error: unknown) => {
      end = error;
    });
    while (!stopped) await vi.advanceTimersByTimeAsync(0);
    let seconds = 0;
    for (; end === undefined; seconds++) await vi.advanceTimersByTimeAsync(1_000);
    expect(end).toMatchObject({ code: 'session_unavailable', outcome: 'unknown' });
    expect(seconds).toBeGreaterThanOrEqual(30);
    expect(seconds).toBeLessThan(40);
  });
});

describe('a call behind another', () => {
  it('replies at once when it is aborted, and leaves the turn to the next', async () => {
    const stop = new AbortController();
    const model = new ScriptedModel([() => never as never, { text: 'third' }]);
    const first = builder(model).build();
    const long = first.call('one', context);
    const second = first.call('two', context, { signal: stop.signal });
    const third = first.call('three', context);
    stop.abort();
    expect(await second).toMatchObject({ stopReason: 'interrupted', steps: 0, sessionId: 's' });
    while (model.requests.length === 0) await new Promise((resolve) => setImmediate(resolve));
    first.interrupt(context);
    expect(await long).toMatchObject({ stopReason: 'interrupted' });
    expect((await third).text).toBe('third');
    expect((await first.state(context))?.context.map(textOf)).toEqual(['one', 'three', 'third']);
  });

  it('waits as long as the limit says', async () => {
    const agent = builder(stalling()).limits({ queueMs: 10 }).build();
    const long = agent.call('one', context);
    await expect(agent.call('two', context)).rejects.toMatchObject({ code: 'lease_unavailable' });
    agent.interrupt(context);
    await long;
  });
});

describe('a long time-out', () => {
  const DAYS_30 = 30 * 24 * 3_600_000;
  it.each([Number.POSITIVE_INFINITY, DAYS_30, 0])('of %d ms leaves a tool its time', async (ms) => {
    for (const own of [true, false]) {
      const agent = builder(new ScriptedModel([CALL, { text: 'done' }]))
        .tools(tool(own ? ms : undefined))
        .limits({ toolMs: own ? 1 : ms })
        .build();
      await agent.call('Hi', context);
      const [result] = (await agent.state(context))?.context.flatMap(toolResultsOf) ?? [];
      expect(textOf(result?.output ?? [])).toBe('done');
    }
  });
});

describe('a provider that asks for a pause', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());
  const busy = () =>
    new ModelError('Too many requests', { retryable: true, status: 429, retryAfterMs: 90_000 });

  it('is given all of it', async () => {
    const model = new ScriptedModel([{ error: busy() }, { text: 'back' }]);
    const pauses: number[] = [];
    const agent = builder(model)
      .onEvent((event) => event.type === 'model.retrying' && pauses.push(event.delayMs))
      .build();
    const reply = agent.call('Hi', context);
    await new Promise<void>((resolve) => {
      const look = () => (pauses.length > 0 ? resolve() : setImmediate(look));
      look();
    });
    expect(pauses).toEqual([90_000]);
    await vi.advanceTimersByTimeAsync(89_999);
    expect(model.requests).toHaveLength(1);
    await vi.advanceTimersByTimeAsync(1);
    expect((await reply).text).toBe('back');
  });

  it('beyond the limit is left for the next model at once', async () => {
    const agent = builder()
      .model(new ScriptedModel([{ error: busy() }]), { fallback: [new ScriptedModel([{ text: 'other' }])] })
      .limits({ retryAfterMs: 60_000 })
      .build();
    expect((await agent.call('Hi', context)).text).toBe('other');
  });
});
