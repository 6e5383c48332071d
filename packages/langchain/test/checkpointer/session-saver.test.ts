import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { deserialize, serialize } from 'node:v8';
import { AIMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import type { RunnableConfig } from '@langchain/core/runnables';
import {
  Annotation,
  Command,
  DeltaChannel,
  END,
  interrupt,
  MessagesAnnotation,
  START,
  StateGraph,
} from '@langchain/langgraph';
import { emptyCheckpoint, uuid6 } from '@langchain/langgraph-checkpoint';
import { eraseUser, InMemorySession, InvalidInputError, SessionKey, type SessionStore } from '@x/core';
import { JsonSession, LocalWorkspace } from '@x/core/node';
import { operationId, wrapStore } from '@x/core/store';
import { SessionSaver } from '@x/langchain';
import { createAgent, fakeModel } from 'langchain';
import { afterEach, beforeEach, describe, expect, it, onTestFinished } from 'vitest';

let directory: string;
beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'x-saver-'));
});
afterEach(() => rm(directory, { recursive: true, maxRetries: 20 }));

const thread = (id: string) => ({ configurable: { thread_id: id } });

/** A graph that answers what it is told, `count` words long. */
function echo(store: SessionStore, more: object = {}) {
  return new StateGraph(MessagesAnnotation)
    .addNode('answer', ({ messages }) => ({
      messages: [new AIMessage(`You said ${messages.at(-1)?.text}. ${'More of it. '.repeat(20)}`)],
    }))
    .addEdge(START, 'answer')
    .addEdge('answer', END)
    .compile({ checkpointer: new SessionSaver({ store, ...more }) });
}

const textsOf = (values: unknown) =>
  (values as typeof MessagesAnnotation.State).messages.map(({ text }) => text.split('.')[0]);

describe.each([
  ['memory', () => new InMemorySession()],
  ['files', () => new JsonSession({ directory })],
])('over %s', (_, makeStore: () => SessionStore) => {
  it('goes on in another process, and from every step back', async () => {
    const store = makeStore();
    for (const word of ['one', 'two', 'three']) {
      await echo(store).invoke({ messages: [new HumanMessage(word)] }, thread('t'));
    }
    const graph = echo(store);
    expect(textsOf((await graph.getState(thread('t'))).values)).toHaveLength(6);
    const history = [];
    for await (const state of graph.getStateHistory(thread('t'))) history.push(state);
    expect(history).toHaveLength(9);
    const afterOne = history.find(({ values, next }) => next.length === 0 && textsOf(values).length === 2);
    const fork = await graph.invoke({ messages: [new HumanMessage('other')] }, afterOne?.config);
    expect(textsOf(fork)).toEqual(['one', 'You said one', 'other', 'You said other']);
    // The branch that was there before is whole.
    const newest = history[0]?.config as never;
    expect(textsOf((await graph.getState(newest)).values)).toHaveLength(6);
  });

  it('shows, lists and deletes nothing of another user or tenant', async () => {
    const store = makeStore();
    const savers = {
      alice: new SessionSaver({ store, userId: 'alice' }),
      bob: new SessionSaver({ store, userId: 'bob' }),
      nobody: new SessionSaver({ store }),
      other: new SessionSaver({ store, userId: 'alice', tenantId: 'acme' }),
    };
    await echo(store, { userId: 'alice' }).invoke(
      { messages: [new HumanMessage('I am Alice')] },
      thread('1'),
    );
    for (const [name, saver] of Object.entries(savers)) {
      const found = [];
      for await (const tuple of saver.list({})) found.push(tuple);
      expect(found.length > 0).toBe(name === 'alice');
      if (name === 'alice') continue;
      expect(await saver.getTuple(thread('1'))).toBeUndefined();
      await saver.deleteThread('1');
    }
    expect(await savers.alice.getTuple(thread('1'))).toBeDefined();
    await savers.alice.deleteThread('1');
    expect(await savers.alice.getTuple(thread('1'))).toBeUndefined();
  });

  it('keeps what two processes write to one thread at once', async () => {
    const store = makeStore();
    const savers = [new SessionSaver({ store }), new SessionSaver({ store })] as const;
    const config = await savers[0].put(
      thread('t'),
      { ...emptyCheckpoint(), id: uuid6(0) },
      { source: 'input', step: -1, parents: {} },
      {},
    );
    await Promise.all(
      Array.from({ length: 12 }, (_, task) =>
        savers[task % 2]?.putWrites(config, [['channel', `value ${task}`]], `task-${task}`),
      ),
    );
    const tuple = await savers[1].getTuple(config);
    expect(tuple?.pendingWrites?.map(([, , value]) => value).sort()).toEqual(
      Array.from({ length: 12 }, (_, task) => `value ${task}`).sort(),
    );
  });

  it('waits for a human and goes on with the answer, in another process', async () => {
    const store = makeStore();
    const build = () =>
      new StateGraph(MessagesAnnotation)
        .addNode('ask', () => ({ messages: [new AIMessage(`Approved: ${interrupt('Sure?')}`)] }))
        .addEdge(START, 'ask')
        .compile({ checkpointer: new SessionSaver({ store }) });
    const asked = await build().invoke({ messages: [new HumanMessage('Delete it')] }, thread('t'));
    expect(JSON.stringify(asked)).toContain('Sure?');
    const done = await build().invoke(new Command({ resume: 'yes' }), thread('t'));
    expect(textsOf(done)).toEqual(['Delete it', 'Approved: yes']);
  });
});

/** A store that tells the sizes of what is written, and how many messages each read gave. */
function countingStore(store: SessionStore) {
  const written: number[] = [];
  const read: number[] = [];
  const counting = wrapStore(store, (inner) => ({
    load: async (key, options) => {
      const loaded = await inner.load(key, options);
      read.push(loaded?.messages.length ?? 0);
      return loaded;
    },
    commit: (key, change) => {
      written.push(JSON.stringify(change.append).length);
      return inner.commit(key, change);
    },
  }));
  return { store: counting, written, read };
}

it('writes what a step adds, however long the thread is, and reads nothing to write it', async () => {
  const store = new InMemorySession();
  const { store: counting, written, read } = countingStore(store);
  const saver = new SessionSaver({ store: counting });
  const text = (at: number) => ({ role: 'user', content: `${at} ${'word '.repeat(400)}` });
  let config = thread('t') as { configurable: Record<string, unknown> };
  let version: number | undefined;
  for (let step = 0; step < 100; step++) {
    version = saver.getNextVersion(version);
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(step),
      channel_values: { messages: Array.from({ length: step + 1 }, (_, at) => text(at)) },
      channel_versions: { messages: version },
    };
    config = (await saver.put(
      config,
      checkpoint,
      { source: 'loop', step, parents: {} },
      { messages: version },
    )) as never;
  }
  expect(read).toHaveLength(1);
  // Of the 99 earlier messages a checkpoint holds digests alone.
  expect(written[99]).toBeLessThan((written[1] as number) + 100 * 40);
  const last = await saver.getTuple(thread('t'));
  expect(last?.checkpoint.channel_values.messages).toEqual(Array.from({ length: 100 }, (_, at) => text(at)));
});

it('reads for the newest checkpoint what that needs, however many there are, in this process and in another', async () => {
  const store = new InMemorySession();
  const counted = countingStore(store);
  const State = Annotation.Root({
    fixed: Annotation<string>(),
    notes: Annotation<string[]>({ reducer: (all, more) => [...all, ...more].slice(-5), default: () => [] }),
  });
  const build = (of: SessionStore) =>
    new StateGraph(State)
      .addNode('note', ({ notes }) => ({ notes: [`note ${notes.length} ${'word '.repeat(40)}`] }))
      .addEdge(START, 'note')
      .compile({ checkpointer: new SessionSaver({ store: of }) });
  const graph = build(counted.store);
  await graph.invoke({ fixed: `Said once. ${'word '.repeat(40)}`, notes: ['first'] }, thread('t'));
  for (let turn = 0; turn < 40; turn++) {
    await graph.invoke({ notes: [`turn ${turn} ${'word '.repeat(40)}`] }, thread('t'));
  }
  const all =
    (await store.collection('threads').load(SessionKey.of({ agentId: 'langgraph', sessionId: 't' })))
      ?.messages.length ?? 0;
  expect(all).toBeGreaterThan(200);
  // Once the thread is known each turn reads the records since the last whole checkpoint.
  expect(Math.max(...counted.read.slice(2))).toBeLessThan(100);
  counted.read.length = 0;
  const { values } = await build(counted.store).getState(thread('t'));
  expect(counted.read).toEqual([128]);
  expect(values).toEqual((await build(store).getState(thread('t'))).values);
  expect(values.fixed).toContain('Said once.');
  expect(values.notes).toHaveLength(5);
  // From every step back the whole of it, although its texts are written again now and then.
  const history = [];
  for await (const state of build(store).getStateHistory(thread('t'))) history.push(state);
  for (const at of [history.at(-3), history[70], history[3]]) {
    const found = await build(store).getState(at?.config as never);
    expect(found.values).toEqual(at?.values);
    expect(found.tasks).toEqual(at?.tasks);
  }
  expect(Math.max(...counted.written)).toBeLessThan(20 * (counted.written.at(-1) as number));
});

it('keeps as many checkpoints as it is asked to, each of them whole', async () => {
  const store = new InMemorySession();
  const graph = echo(store, { keep: 6 });
  for (let turn = 0; turn < 20; turn++) {
    await graph.invoke({ messages: [new HumanMessage(`turn ${turn}`)] }, thread('t'));
  }
  const other = echo(store, { keep: 6 });
  const history = [];
  for await (const state of other.getStateHistory(thread('t'))) history.push(state);
  expect(history.length).toBeGreaterThanOrEqual(6);
  expect(history.length).toBeLessThan(12);
  expect(textsOf(history[0]?.values)).toHaveLength(40);
  expect(textsOf(history.at(-1)?.values).length).toBeGreaterThan(30);
  const stored = await store
    .collection('threads')
    .load(SessionKey.of({ agentId: 'langgraph', sessionId: 't' }));
  expect(stored?.messages.length).toBeLessThan(40);
});

it.each([1, 2, 5])(
  'keeps %i checkpoints of a graph with nodes in a row, written by any serializer',
  async (keep) => {
    const serde = {
      dumpsTyped: async (value: unknown) => ['own', serialize(value)] as [string, Uint8Array],
      loadsTyped: async (_: string, data: Uint8Array | string) => deserialize(data as Uint8Array) as unknown,
    };
    const saver = new SessionSaver({ store: new InMemorySession(), keep, serde });
    const step = () => ({ count: 1 });
    const graph = new StateGraph(
      Annotation.Root({ count: Annotation<number>({ reducer: (a, b) => a + b, default: () => 0 }) }),
    )
      .addNode('a', step)
      .addNode('b', step)
      .addNode('c', step)
      .addEdge(START, 'a')
      .addEdge('a', 'b')
      .addEdge('b', 'c')
      .addEdge('c', END)
      .compile({ checkpointer: saver });
    for (let run = 0; run < 6; run++) await graph.invoke({ count: 0 }, thread('t'));
    const history = [];
    for await (const state of graph.getStateHistory(thread('t'))) history.push(state);
    expect(history.length).toBeGreaterThanOrEqual(keep);
    expect(history.length).toBeLessThan(2 * keep);
    expect(history[0]?.values).toEqual({ count: 18 });
  },
);

it('keeps what deltas were written on, and cuts behind the whole value that comes after them', async () => {
  const saver = new SessionSaver({ store: new InMemorySession(), keep: 2 });
  const said = new DeltaChannel<string[], string[]>((have, added) => [...have, ...added.flat()], {
    snapshotFrequency: 6,
  });
  const graph = new StateGraph(Annotation.Root({ said: () => said }))
    .addNode('a', () => ({ said: ['a'] }))
    .addNode('b', () => ({ said: ['b'] }))
    .addEdge(START, 'a')
    .addEdge('a', 'b')
    .addEdge('b', END)
    .compile({ checkpointer: saver });
  const counts: number[] = [];
  for (let run = 1; run <= 6; run++) {
    await graph.invoke({ said: ['x'] }, thread('t'));
    const { values } = await graph.getState(thread('t'));
    expect(values.said).toHaveLength(3 * run);
    const found = [];
    for await (const tuple of saver.list(thread('t'))) found.push(tuple);
    counts.push(found.length);
  }
  expect(Math.max(...counts)).toBeGreaterThan(4);
  expect(Math.max(...counts)).toBeLessThan(15);
});

it('keeps what tasks wrote beside a checkpoint that is still on its way', async () => {
  const saver = new SessionSaver({ store: new InMemorySession(), keep: 1 });
  const checkpoints = Array.from({ length: 7 }, (_, step) => ({ ...emptyCheckpoint(), id: uuid6(step) }));
  const at = (step: number) => ({
    configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: checkpoints[step]?.id },
  });
  for (const [step, checkpoint] of checkpoints.slice(0, 6).entries()) {
    const parent = step === 0 ? thread('t') : at(step - 1);
    const put = saver.put(parent, checkpoint, { source: 'loop', step, parents: {} }, {});
    // As a graph does that does not wait for the checkpoint before the next step.
    await Promise.all([put, saver.putWrites(at(step + 1), [['channel', step]], `task-${step + 1}`)]);
    const found = await saver.getTuple(at(step));
    expect(found?.pendingWrites).toEqual(step === 0 ? [] : [[`task-${step}`, 'channel', step - 1]]);
  }
});

it('finds what tasks wrote long before their checkpoint came', async () => {
  const saver = new SessionSaver({ store: new InMemorySession() });
  let config: RunnableConfig = thread('t');
  const ahead = { configurable: { thread_id: 't', checkpoint_ns: '', checkpoint_id: uuid6(70) } };
  for (let step = 0; step <= 70; step++) {
    if (step === 30) await saver.putWrites(ahead, [['channel', 'written']], 'task');
    const id = step === 70 ? ahead.configurable.checkpoint_id : uuid6(step);
    const metadata = { source: 'loop', step, parents: {} } as const;
    config = await saver.put(config, { ...emptyCheckpoint(), id }, metadata, {});
  }
  expect((await saver.getTuple(ahead))?.pendingWrites).toEqual([['task', 'channel', 'written']]);
});

/** A graph whose profile is given once; where it is told to wait it tells when it does. */
function profiled(saver: SessionSaver, wait?: () => Promise<void>) {
  const State = Annotation.Root({
    profile: Annotation<string>(),
    log: Annotation<string[]>({ reducer: (all, more) => [...all, ...more], default: () => [] }),
  });
  return new StateGraph(State)
    .addNode('work', async () => {
      await wait?.();
      return { log: ['worked'] };
    })
    .addNode('end', () => ({ log: ['ended'] }))
    .addEdge(START, 'work')
    .addEdge('work', 'end')
    .addEdge('end', END)
    .compile({ checkpointer: saver });
}

it('keeps all that a run holds whose thread goes on by other runs, of which it keeps the newest steps', async () => {
  const store = new InMemorySession();
  const open = () => new SessionSaver({ store, keep: 3 });
  const profile = `Alice. ${'More of it. '.repeat(20)}`;
  await profiled(open()).invoke({ profile, log: ['asked'] }, thread('t'));
  const gate = () => {
    let open = () => {};
    const opened = new Promise<void>((resolve) => {
      open = resolve;
    });
    return { open, opened };
  };
  const [waits, goesOn] = [gate(), gate()];
  const wait = () => {
    waits.open();
    return goesOn.opened;
  };
  const run = profiled(open(), wait).invoke({ log: ['again'] }, thread('t'));
  await waits.opened;
  for (let turn = 0; turn < 5; turn++) await profiled(open()).invoke({ profile: 'Other' }, thread('t'));
  goesOn.open();
  const done = await run;
  const log = ['asked', 'worked', 'ended', 'again', 'worked', 'ended'];
  expect(done).toEqual({ profile, log });
  expect((await profiled(open()).getState(thread('t'))).values).toEqual({ profile, log });
  expect(await profiled(open()).invoke({ log: ['next'] }, thread('t'))).toMatchObject({ profile });
});

describe.each<[string, (store: SessionStore) => Promise<unknown>]>([
  ['the thread is deleted', (store) => new SessionSaver({ store, userId: 'ann' }).deleteThread('t')],
  [
    'the user is erased',
    (store) => eraseUser({ session: store, storage: new LocalWorkspace(directory) }, { userId: 'ann' }),
  ],
])('while a graph runs, %s', (_, erase) => {
  const secret = 'the secret of Ann';
  const held = async (store: SessionStore) => {
    const threads = store.collection?.('threads') ?? store;
    let text = '';
    for await (const { key } of threads.list()) text += JSON.stringify((await threads.load(key))?.messages);
    return text;
  };

  it.each(['sync', 'async', 'exit'] as const)('and nothing comes back (%s)', async (durability) => {
    const store = new InMemorySession();
    const saver = new SessionSaver({ store, userId: 'ann' });
    let erases = false;
    const graph = profiled(saver, async () => {
      if (erases) await erase(store);
    });
    await graph.invoke({ profile: secret }, thread('t'));
    expect(await held(store)).toContain(secret);
    erases = true;
    const run = graph.invoke({ log: ['again'] }, { ...thread('t'), durability });
    await expect(run).rejects.toMatchObject({ code: 'session_deleted' });
    expect(await held(store)).not.toContain(secret);
    // The thread is free for a new run.
    erases = false;
    expect((await graph.invoke({ log: ['new'] }, thread('t'))).log).toEqual(['new', 'worked', 'ended']);
    expect(await held(store)).not.toContain(secret);
  });

  it.each(['sync', 'async', 'exit'] as const)('and no later step is stored (%s)', async (durability) => {
    const store = new InMemorySession();
    let isErased = false;
    const graph = new StateGraph(Annotation.Root({ profile: Annotation<string>() }))
      .addNode('first', async () => {
        if (isErased) await erase(store);
        return {};
      })
      .addNode('second', () => ({ profile: isErased ? secret : 'Ann' }))
      .addEdge(START, 'first')
      .addEdge('first', 'second')
      .addEdge('second', END)
      .compile({ checkpointer: new SessionSaver({ store, userId: 'ann' }) });
    await graph.invoke({ profile: 'Ann' }, thread('t'));
    isErased = true;
    const run = graph.invoke({ profile: 'Ann' }, { ...thread('t'), durability });
    await expect(run).rejects.toMatchObject({ code: 'session_deleted' });
    expect(await held(store)).not.toContain(secret);
  });

  it('and a subgraph that begins then brings nothing back either', async () => {
    const store = new InMemorySession();
    const saver = new SessionSaver({ store, userId: 'ann' });
    const inner = profiled(saver);
    const graph = new StateGraph(Annotation.Root({ profile: Annotation<string>() }))
      .addNode('first', async () => {
        await erase(store);
        return {};
      })
      .addNode('inner', inner)
      .addEdge(START, 'first')
      .addEdge('first', 'inner')
      .addEdge('inner', END)
      .compile({ checkpointer: saver });
    const run = graph.invoke({ profile: secret }, { ...thread('t'), durability: 'sync' });
    await expect(run).rejects.toMatchObject({ code: 'session_deleted' });
    expect(await held(store)).not.toContain(secret);
  });
});

describe('a value that JSON cannot hold', () => {
  const said = (artifact: unknown) =>
    new ToolMessage({ tool_call_id: 'c', content: '1 row', artifact: { rows: [artifact] } });
  const asked = () => [
    new HumanMessage('the only copy'),
    new AIMessage({ content: '', tool_calls: [{ id: 'c', name: 'sql', args: {} }] }),
  ];
  const graphOf = (store: SessionStore, artifact: unknown) =>
    new StateGraph(MessagesAnnotation)
      .addNode('t', () => ({ messages: [said(artifact)] }))
      .addEdge(START, 't')
      .addEdge('t', END)
      .compile({ checkpointer: new SessionSaver({ store }) });

  it.each([undefined, () => 'text'])('is kept if it is a bigint, and JSON has %s for it', async (toJSON) => {
    const before = toJSON && { value: toJSON, configurable: true };
    if (before) Object.defineProperty(BigInt.prototype, 'toJSON', before);
    onTestFinished(() => void Reflect.deleteProperty(BigInt.prototype, 'toJSON'));
    const store = new InMemorySession();
    const id = 12_345_678_901_234_567_890n;
    const artifact = { id, loop: {} };
    artifact.loop = artifact;
    await graphOf(store, artifact).invoke({ messages: asked() }, thread('t'));
    expect(artifact.id).toBe(id);
    const { messages } = (await graphOf(store, 1).getState(thread('t'))).values;
    expect(messages.map((message: { text: string }) => message.text)).toEqual(['the only copy', '', '1 row']);
    expect(messages[2].artifact.rows[0].id).toBe(id);
    const next = await graphOf(store, 2n).invoke({ messages: asked() }, thread('t'));
    expect(next.messages).toHaveLength(6);
    expect(Object.getOwnPropertyDescriptor(BigInt.prototype, 'toJSON')?.value).toBe(toJSON);
  });

  it('is kept if it holds bigints at any depth', async () => {
    const saver = new SessionSaver({ store: new InMemorySession() });
    const make = () => [
      1n,
      new Map<string, unknown>([['ids', new Set([2n, 'x', [{ n: -3n }]])]]),
      { m: new Map([['k', 4n]]), frozen: Object.freeze({ n: 6n }), keys: new Map([[7n, 'seven']]) },
      // What only looks like a mark of ours.
      { lc: 2, type: 'bigint', value: 'one' },
    ];
    const channel = make();
    const checkpoint = {
      ...emptyCheckpoint(),
      id: uuid6(0),
      channel_values: { channel, one: 5n },
      channel_versions: { channel: 1, one: 1 },
    };
    await saver.put(
      thread('t'),
      checkpoint,
      { source: 'input', step: -1, parents: {} },
      { channel: 1, one: 1 },
    );
    expect(channel).toEqual(make());
    const tuple = await saver.getTuple(thread('t'));
    expect(tuple?.checkpoint.channel_values).toEqual({ channel: make(), one: 5n });
  });

  it.each([
    ['toJSON', { toJSON: () => fails() }],
    [
      'a getter',
      {
        get broken() {
          return fails();
        },
      },
    ],
  ])('is refused by channel and path if %s throws', async (_, artifact) => {
    const store = new InMemorySession();
    const run = graphOf(store, artifact).invoke({ messages: asked() }, thread('t'));
    await expect(run).rejects.toMatchObject({
      code: 'invalid_input',
      issues: [{ path: expect.stringMatching(/^messages\[\d\]\.artifact\.rows\[0\]/) }],
    });
    const state = await graphOf(store, 1).getState(thread('t'));
    expect(JSON.stringify(state.values)).not.toContain('unable to serialize');
  });

  function fails(): never {
    throw new Error('no');
  }
});

it('refuses to bring a deleted thread back without what its deltas said', async () => {
  const store = new InMemorySession();
  const said = new DeltaChannel<string[], string[]>((have, added) => [...have, ...added.flat()]);
  const build = (meanwhile = async () => {}) =>
    new StateGraph(Annotation.Root({ said: () => said }))
      .addNode('a', async () => {
        await meanwhile();
        return { said: ['a'] };
      })
      .addEdge(START, 'a')
      .addEdge('a', END)
      .compile({ checkpointer: new SessionSaver({ store }) });
  await build().invoke({ said: ['x'] }, thread('t'));
  const run = build(() => new SessionSaver({ store }).deleteThread('t')).invoke({ said: ['y'] }, thread('t'));
  await expect(run).rejects.toMatchObject({ code: 'session_deleted' });
  expect((await build().invoke({ said: ['z'] }, thread('t'))).said).toEqual(['z', 'a']);
});

it('never gives a checkpoint without a value that is lost', async () => {
  const store = new InMemorySession();
  await profiled(new SessionSaver({ store })).invoke({ profile: 'Alice' }, thread('t'));
  const key = SessionKey.of({ agentId: 'langgraph', sessionId: 't' });
  const threads = store.collection('threads');
  const stored = await threads.load(key);
  await threads.delete(key);
  const append = stored?.messages.slice(-1) ?? [];
  await threads.commit(key, {
    operation: operationId(),
    expected: undefined,
    head: stored?.head ?? {},
    keep: 0,
    append,
  });
  const read = profiled(new SessionSaver({ store })).getState(thread('t'));
  await expect(read).rejects.toMatchObject({ code: 'session_corrupt' });
});

it('keeps of subgraphs what ran beside the checkpoints that it keeps', async () => {
  const store = new InMemorySession();
  const saver = new SessionSaver({ store, keep: 2 });
  const answer = () => ({ messages: [new AIMessage('Done')] });
  const inner = new StateGraph(MessagesAnnotation).addNode('b', answer).addEdge(START, 'b').compile();
  const outer = new StateGraph(MessagesAnnotation).addNode('a', inner).addEdge(START, 'a').compile();
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('sub', outer)
    .addEdge(START, 'sub')
    .compile({ checkpointer: saver });
  const sessions = async () => {
    const found = [];
    for await (const { key } of store.collection('threads').list()) found.push(key.parts.agentId);
    return found;
  };
  for (let turn = 0; turn < 6; turn++) {
    await graph.invoke({ messages: [new HumanMessage('Hi')] }, thread('t'));
    expect((await sessions()).length).toBeLessThan(8);
  }
  expect(await sessions()).toContain('langgraph');
  await saver.deleteThread('t');
  expect(await sessions()).toEqual([]);
});

it('keeps threads of any name apart, whatever their namespaces', async () => {
  const saver = new SessionSaver({ store: new InMemorySession() });
  const put = (thread_id: string, checkpoint_ns: string) =>
    saver.put(
      { configurable: { thread_id, checkpoint_ns } },
      { ...emptyCheckpoint(), id: uuid6(0) },
      { source: 'input', step: -1, parents: {} },
      {},
    );
  const names = ['a', 'a/b', 'a:b', '__proto__', '../x', '%2e', 'ü', '1'];
  for (const name of names) for (const ns of ['', 'b', 'b:c']) await put(name, ns);
  for (const name of names) {
    for (const ns of ['', 'b', 'b:c']) {
      const config = { configurable: { thread_id: name, checkpoint_ns: ns } };
      const found = [];
      for await (const tuple of saver.list(config)) found.push(tuple.config.configurable);
      expect(found).toMatchObject([config.configurable]);
    }
  }
  await expect(put('', '')).rejects.toBeInstanceOf(InvalidInputError);
  expect(() => new SessionSaver({ store: {} } as never)).toThrow('must be a SessionStore');
  const { collection: _, ...store } = wrapStore(new InMemorySession(), {});
  expect(() => new SessionSaver({ store })).toThrow(/no collections.*"threads"/);
});

it('keeps the threads of agents apart of which one is named like a namespace of the other', async () => {
  const store = new InMemorySession();
  const [one, other] = [
    new SessionSaver({ store, agentId: 'g' }),
    new SessionSaver({ store, agentId: 'g:sub' }),
  ];
  const inputs = [{ source: 'input', step: -1, parents: {} }, {}] as const;
  await other.put(thread('t'), { ...emptyCheckpoint(), id: uuid6(0) }, ...inputs);
  expect(await one.getTuple({ configurable: { thread_id: 't', checkpoint_ns: 'sub' } })).toBeUndefined();
  await one.deleteThread('t');
  expect(await other.getTuple(thread('t'))).toBeDefined();
});

it('carries an agent with our middleware', async () => {
  const store = new JsonSession({ directory });
  const ask = (text: string) => {
    const model = fakeModel().respond(new AIMessage('Yes.'));
    const agent = createAgent({ model, tools: [], checkpointer: new SessionSaver({ store }) });
    return agent.invoke({ messages: [new HumanMessage(text)] }, thread('t'));
  };
  await ask('One?');
  expect((await ask('Two?')).messages.map(({ text }) => text)).toEqual(['One?', 'Yes.', 'Two?', 'Yes.']);
});
