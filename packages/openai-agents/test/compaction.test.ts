import { setImmediate } from 'node:timers/promises';
import { Agent, type AgentInputItem, run, tool } from '@openai/agents';
import { createCompactor, maskOutputs, truncateArgs } from '@x/compaction';
import {
  type CompactionOutcome,
  type Compactor,
  InMemorySession,
  type Model,
  SessionKey,
  type Usage,
} from '@x/core';
import fc from 'fast-check';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { AgentsSession } from '../src/index.js';
import { answered, called, FakeModel, said, user } from './fake-model.js';

const key = SessionKey.of({ userId: 'alice', sessionId: 's-001' });

function observed(compactor: Compactor, store = new InMemorySession()) {
  const outcomes: CompactionOutcome[] = [];
  const session = new AgentsSession({
    store,
    key,
    compactor,
    onCompaction: (outcome) => void outcomes.push(outcome),
  });
  return { outcomes, session, store };
}

/** Calls and results by id, in order. */
function pairing(items: readonly AgentInputItem[]) {
  const ids = (type: string) =>
    items.flatMap((item) => (item.type === type && 'callId' in item ? [item.callId] : []));
  return { calls: ids('function_call'), results: ids('function_call_result') };
}

const reasoning = (id: string): AgentInputItem => ({
  type: 'reasoning',
  id,
  content: [],
  providerData: { encrypted_content: `gAAA-${id}` },
});

it('keeps what keep.match names through every reduction', async () => {
  const keep = { match: ['#keep'], users: 0 };
  const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000, keep }));
  await session.addItems([user('Go.'), said('#keep The port is 4117.'), user('#keep Never push.')]);
  for (let turn = 0; turn < 50; turn++) {
    await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(160)}`)]);
    await session.runCompaction();
  }
  const applied = outcomes.filter(({ status }) => status === 'applied');
  expect(applied.length).toBeGreaterThan(2);
  for (const { message } of applied) expect(message).toContain('2 of 2 pins present');
  const boards = (await session.getItems()).map((item) => JSON.stringify(item));
  expect(boards.filter((item) => item.includes('Pinned parts'))).toEqual([
    expect.stringMatching(/#keep Never push.*#keep The port is 4117/),
  ]);
});

it('keeps the compaction of a model, which only its provider can read', async () => {
  const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000 }));
  const sealed: AgentInputItem = { type: 'compaction', id: 'cmp_1', encrypted_content: 'gAAA'.repeat(900) };
  await session.replaceHistoryWithCompaction([user('Go.'), sealed]);
  for (let turn = 0; turn < 50; turn++) {
    await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(160)}`)]);
    await session.runCompaction();
    if (outcomes.filter(({ status }) => status === 'applied').length === 3) break;
  }
  expect(outcomes).toHaveLength(3);
  await session.runCompaction({ force: true });
  const [left, found] = outcomes.slice(-2);
  expect([left?.tokensAfter, left?.messagesAfter]).toEqual([found?.tokensBefore, found?.messagesBefore]);
  expect((await session.getItems()).filter(({ type }) => type === 'compaction')).toEqual([sealed]);
});

it.each<[string, AgentInputItem, AgentInputItem]>([
  ['calls', called('c1', 'pay', {}), answered('c1', 'pay', 'paid')],
  [
    'calls of hosted MCP tools',
    { type: 'hosted_tool_call', id: 'c1', name: 'mcp_approval_request', providerData: { id: 'c1' } },
    {
      type: 'hosted_tool_call',
      name: 'mcp_approval_response',
      providerData: { approve: true, approval_request_id: 'c1' },
    },
  ],
])('keeps %s that wait for an approval, so that their results have one', async (_, call, result) => {
  const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000 }));
  await session.addItems([user('Pay.'), reasoning('rs_1'), call]);
  const chat = async () => {
    for (let turn = 0; turn < 40; turn++) {
      await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(160)}`)]);
      await session.runCompaction();
    }
    return (await session.getItems()).filter(({ type }) => type !== 'message');
  };
  expect(await chat()).toEqual([reasoning('rs_1'), call]);
  await session.addItems([result]);
  expect(await chat()).toEqual([]);
  expect(outcomes.filter(({ status }) => status === 'applied').length).toBeGreaterThan(4);
});

it.each(['at once', 'later'])(
  'keeps a call that waits with the other calls of its answer that stay, and its thought once: %s',
  async (when) => {
    const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000 }));
    const chat = async (turns: number) => {
      for (let turn = 0; turn < turns; turn++) {
        await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(160)}`)]);
        await session.runCompaction();
      }
    };
    await chat(8);
    const calls = [called('c1', 'pay', {}), called('c2', 'look', {})];
    const seen = answered('c2', 'look', 'seen');
    await session.addItems([user('Pay.'), reasoning('rs_1'), ...calls, seen]);
    await chat(when === 'at once' ? 0 : 1);
    await session.runCompaction({ force: true });
    const left = (await session.getItems()).filter(({ type }) => type !== 'message');
    expect(left).toEqual([reasoning('rs_1'), ...calls, seen]);
    await session.runCompaction({ force: true });
    const [one, two] = outcomes.slice(-2);
    expect([one?.tokensAfter, one?.messagesAfter]).toEqual([two?.tokensBefore, two?.messagesBefore]);
  },
);

it('removes calls of runs that were abandoned', async () => {
  const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000 }));
  for (let turn = 0; turn < 60; turn++) {
    await session.addItems([user(`Question ${turn}`), said('a word '.repeat(100))]);
    if (turn % 4 === 0)
      await session.addItems([called(`c${turn}`, 'write_file', { text: 'a word '.repeat(400) })]);
    await session.runCompaction();
  }
  expect(outcomes.every(({ tokensAfter }) => tokensAfter < 6_000)).toBe(true);
  expect(JSON.stringify(await session.getItems()).match(/"c\d+"/g)).toHaveLength(1);
});

it('reduces what is stored after a turn, so that the next run begins with less', async () => {
  const { outcomes, session } = observed(createCompactor({ contextWindow: 6_000, keep: { messages: 6 } }));
  const read = tool({
    name: 'read_file',
    description: 'Reads a file',
    parameters: z.object({ path: z.string() }),
    execute: async ({ path }) => `contents of ${path}\n`.repeat(60),
  });
  for (let turn = 0; turn < 12; turn++) {
    const model = new FakeModel(
      [
        reasoning(`rs-${turn}`) as never,
        called(`a-${turn}`, 'read_file', { path: `src/a-${turn}.ts` }),
        called(`b-${turn}`, 'read_file', { path: `src/b-${turn}.ts` }),
      ],
      [said(`Read in turn ${turn}.`)],
    );
    const agent = new Agent({ name: 'Reader', model, tools: [read] });
    await run(agent, `Read the files of turn ${turn}`, { session });
    for (const input of model.inputs) {
      const { calls, results } = pairing(input);
      expect(results).toEqual(calls);
      const thoughts = input.filter(({ type }) => type === 'reasoning');
      expect(thoughts).toHaveLength(calls.length / 2);
    }
    expect(JSON.stringify(model.inputs[0]).length / 4).toBeLessThan(6_000);
  }
  const items = await session.getItems();
  expect(outcomes.filter(({ status }) => status === 'applied').length).toBeGreaterThan(1);
  const summaries = items.filter((item) => JSON.stringify(item).includes('[CONVERSATION_SUMMARY]'));
  expect(summaries).toHaveLength(1);
  expect(JSON.stringify(summaries)).toContain('src/a-0.ts');
  expect(items.at(-1)).toEqual(said('Read in turn 11.'));
});

it('changes of an item only what the compactor changed', async () => {
  const long = 'a line of output\n'.repeat(400);
  const shell = [
    { type: 'shell_call', callId: 'sh-1', status: 'completed', action: { commands: ['ls'] } },
    {
      type: 'shell_call_output',
      callId: 'sh-1',
      output: [{ stdout: long, stderr: '', outcome: { type: 'exit', exitCode: 0 } }],
    },
  ] as AgentInputItem[];
  const items: AgentInputItem[] = [
    user('Do it'),
    reasoning('rs-1'),
    said('I will write.'),
    {
      ...called('w-1', 'write_file', { path: 'a.ts', content: 'x'.repeat(9_000) }),
      id: 'fc-1',
      providerData: { own: 1 },
    },
    { ...answered('w-1', 'write_file', long), id: 'fco-1' },
    ...shell,
    called('r-1', 'read_file', { path: 'b.ts' }),
    answered('r-1', 'read_file', 'short'),
    said('Done.'),
    user('Go on'),
  ];
  const compactor = createCompactor({
    stages: [
      truncateArgs({ triggerMessages: 1, keepMessages: 2, maxArgLength: 100 }),
      maskOutputs({ keepRecentToolOutputs: 1 }),
    ],
  });
  const { outcomes, session } = observed(compactor);
  await session.addItems(items);
  await session.runCompaction({ force: true });
  expect(outcomes).toMatchObject([{ status: 'applied' }]);
  const reduced = await session.getItems();
  expect(reduced).toHaveLength(items.length);
  reduced.forEach((item, index) => {
    if (index !== 3 && index !== 4) expect(item).toEqual(items[index]);
  });
  const args = JSON.parse((reduced[3] as { arguments: string }).arguments) as {
    path: string;
    content: string;
  };
  expect(reduced[3]).toEqual({ ...items[3], arguments: JSON.stringify(args) });
  expect(args.path).toBe('a.ts');
  expect(args.content.length).toBeLessThanOrEqual(100);
  expect(reduced[4]).toEqual({ ...items[4], output: expect.stringContaining('lines') });
});

it('keeps what others add while it runs, and asks the compactor once', async () => {
  const store = new InMemorySession();
  const real = createCompactor({ trigger: { messages: 10 }, keep: { messages: 4 } });
  let runs = 0;
  const other = new AgentsSession({ store, key });
  const { session } = observed(
    {
      ...real,
      async compact(messages, options) {
        runs++;
        const outcome = await real.compact(messages, options);
        await other.addItems([user('Meanwhile')]);
        return outcome;
      },
    },
    store,
  );
  for (let turn = 0; turn < 10; turn++) await session.addItems([user(`Q ${turn}`), said('A. '.repeat(50))]);
  await session.runCompaction();
  const items = await session.getItems();
  expect(runs).toBe(1);
  expect(items.length).toBeLessThan(10);
  expect(items.slice(-3)).toEqual([user('Q 9'), said('A. '.repeat(50)), user('Meanwhile')]);
});

it('reports what the summaries cost', async () => {
  const summarizer: Model = {
    id: 'fake',
    contextWindow: 100_000,
    generate: async () => ({
      content: [
        { type: 'text', text: '## SESSION INTENT\nA\n## SUMMARY\nB\n## ARTIFACTS\nC\n## NEXT STEPS\nD' },
      ],
      finishReason: 'stop',
      usage: { inputTokens: 700, outputTokens: 80 },
    }),
  };
  const { session } = observed(
    createCompactor({ model: summarizer, trigger: { messages: 10 }, keep: { messages: 4 } }),
  );
  for (let turn = 0; turn < 10; turn++) await session.addItems([user(`Q ${turn}`), said('A. '.repeat(50))]);
  const agent = new Agent({ name: 'Helper', model: new FakeModel([said('Yes.')]) });
  const result = await run(agent, 'And?', { session });
  expect(result.state.usage).toMatchObject({ requests: 2, inputTokens: 701, outputTokens: 81 });
  const items = await session.getItems();
  const summaries = items.filter((item) => JSON.stringify(item).includes('SESSION INTENT'));
  expect(summaries).toHaveLength(1);
  // What the user asked stands in front of it.
  expect(items[0]).toEqual(user('Q 0'));
});

it('reduces by text alone where the model has a compaction that only its provider reads', async () => {
  const sealed = async () => ({ content: [{ type: 'opaque', provider: 'acme', data: 'sealed' }] as const });
  const model: Model = {
    id: 'acme:large',
    contextWindow: 6_000,
    generate: async () => ({ content: [{ type: 'text', text: 'No.' }], finishReason: 'stop' }),
    compact: sealed,
  };
  const { outcomes, session } = observed(createCompactor({ model }));
  for (let turn = 0; turn < 20; turn++)
    await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(200)}`)]);
  await session.runCompaction();
  expect(outcomes).toMatchObject([{ status: 'applied' }]);
  expect(JSON.stringify(await session.getItems())).not.toContain('sealed');
});

it('leaves the history alone when the result has no form as items', async () => {
  const real = createCompactor();
  const { outcomes, session } = observed({
    ...real,
    compact: async (messages, options) => ({
      ...(await real.compact(messages, options)),
      status: 'applied',
      messages: [
        {
          id: 'x',
          role: 'assistant',
          createdAt: '',
          content: [{ type: 'opaque', provider: 'openai', data: {} }],
        },
      ],
    }),
  });
  await session.addItems([user('Hi'), said('Hello')]);
  expect(await session.runCompaction()).toBeNull();
  expect(outcomes).toMatchObject([{ status: 'failed', message: expect.stringContaining('opaque') }]);
  expect(await session.getItems()).toEqual([user('Hi'), said('Hello')]);
});

it('never parts a call from its result, whatever the items', async () => {
  const step = fc.oneof(
    fc.constant([user('A request of some length, so that there is something to gain')]),
    fc.constant([said('An answer of some length, so that there is something to gain')]),
    fc.record({ calls: fc.integer({ min: 1, max: 3 }), length: fc.integer({ min: 0, max: 3_000 }) }),
  );
  let runs = 0;
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 40 }), async (steps) => {
      let id = 0;
      const items = steps.flatMap((made): AgentInputItem[] => {
        if (!('calls' in made)) return [...made];
        const ids = Array.from({ length: made.calls }, () => `call-${id++}`);
        return [
          reasoning(`rs-${id}`),
          ...ids.map((callId) => called(callId, 'read_file', { path: callId })),
          ...ids.map((callId) => answered(callId, 'read_file', 'x'.repeat(made.length))),
        ];
      });
      const compactor = createCompactor({
        contextWindow: 3_000,
        trigger: { messages: 12 },
        keep: { messages: 4 },
      });
      const session = new AgentsSession({
        store: new InMemorySession(),
        key: SessionKey.of(`run-${runs++}`),
        compactor,
      });
      await session.addItems(items);
      await session.runCompaction();
      const { calls, results } = pairing(await session.getItems());
      expect([...results].sort()).toEqual([...calls].sort());
    }),
    { numRuns: 60 },
  );
});

it('reports the usage of a narrative that comes after the compaction', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const usage = { inputTokens: 900, outputTokens: 90 };
  const model: Model = {
    id: 'acme:late',
    async generate() {
      await gate;
      return { content: [{ type: 'text', text: 'Too late.' }], finishReason: 'stop', usage };
    },
  };
  const compactor = createCompactor({ model, contextWindow: 6_000, summary: { waitMs: 0 } });
  const spent: Usage[] = [];
  const onUsage = (each: Usage) => void spent.push(each);
  const session = new AgentsSession({ store: new InMemorySession(), key, compactor, onUsage });
  for (let turn = 0; turn < 40; turn++)
    await session.addItems([user(`Question ${turn}`), said(`Answer ${turn}: ${'a word '.repeat(160)}`)]);
  expect(await session.runCompaction()).toBeNull();
  expect(spent).toEqual([]);
  release();
  await setImmediate();
  expect(spent[0]).toEqual(usage);
});
