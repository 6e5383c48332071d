import { type CompactionCapabilityConfig, compaction } from '@x/compaction';
import { AgentState, defineTool, type Message, type ModelRequest, RuntimeContext, textOf } from '@x/core';
import { JsonSession } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../src/index.js';
import { collect, scratch } from './support.js';

const filler = (about: string) => `${about} is fine. `.repeat(120);
const look = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  readOnly: true,
  input: z.object({ what: z.string() }),
  execute: ({ what }, { runtime }) =>
    what === 'sofa'
      ? `The velvet sofa of ${runtime.userId} costs 8713 crowns.\n${filler('Velvet')}`
      : filler(what),
});
const call = (name: string, input: Record<string, string>) => ({ toolCalls: [{ name, input }] });
const things = ['sofa', ...Array.from({ length: 14 }, (_, index) => `lamp${index}`)];
/** The model looks up many things, the sofa first, until its window is full. */
const script = [...things.map((what) => call('look_up', { what })), { text: 'All looked up.' }];

function agentOf(
  model: ScriptedModel,
  options: Extract<CompactionCapabilityConfig, { readonly preset?: undefined }> = {},
  workspace = scratch(),
  store = new JsonSession({ directory: workspace }),
) {
  return HarnessAgent.builder()
    .model(model)
    .workspace(workspace)
    .session(store)
    .tools(look)
    .use(compaction({ model: null, summary: { record: 0.05 }, ...options }))
    .build();
}

const whose = (userId: string, sessionId = userId) => RuntimeContext.of({ userId, sessionId });
const reminderIn = (request: ModelRequest | undefined) =>
  request?.messages.find(({ id }) => id === 'recall-reminder');
const said = (message: Message | undefined) => (message ? textOf(message) : '');

describe('recall in an agent', () => {
  it('reminds of what was removed and fits a new request, in that request alone', async () => {
    const model = new ScriptedModel([...script, call('look_up', { what: 'rug' }), { text: '8713 crowns.' }], {
      contextWindow: 6_000,
    });
    const agent = agentOf(model);
    await agent.call('Look all of them up.', whose('ann'));
    await agent.call('What did the velvet sofa cost?', whose('ann'));
    const [first, second] = model.requests.slice(-2);
    const reminder = reminderIn(first);
    expect(said(reminder)).toContain('| The velvet sofa of ann costs 8713 crowns.');
    expect(said(reminder)).toMatch(/r3, result of look_up:/);
    expect(first?.messages.at(-1)).toBe(reminder);
    expect(reminderIn(second)).toBeUndefined();
    // It stands behind everything: what a provider has cached stays as it was.
    const cached = first?.messages.slice(0, -1) ?? [];
    expect(second?.messages.slice(0, cached.length)).toEqual(cached);
    await agent.close();
  });

  it('answers a query and a reference from the log of the session, also after a restart', async () => {
    const workspace = scratch();
    const first = agentOf(new ScriptedModel(script, { contextWindow: 6_000 }), {}, workspace);
    await first.call('Look all of them up.', whose('bob'));
    await first.close();
    const model = new ScriptedModel(
      [call('recall', { query: 'velvet sofa crowns' }), call('recall', { ref: 'r3' }), { text: 'done' }],
      { contextWindow: 6_000 },
    );
    const agent = agentOf(model, {}, workspace);
    await agent.call('Go on.', whose('bob'));
    const results =
      model.requests
        .at(-1)
        ?.messages.filter(({ role }) => role === 'tool')
        .slice(-2) ?? [];
    expect(said(results[0])).toContain('| The velvet sofa of bob costs 8713 crowns.');
    expect(said(results[1])).toMatch(
      /^\[r3, result of look_up\]\nThe velvet sofa of bob costs 8713 crowns\.\n/,
    );
    expect(said(model.requests[0]?.messages.find(({ kind }) => kind === 'summary'))).toContain(
      'recall({"ref":"r12"})',
    );
    await agent.close();
  });

  it('keeps the numbers of messages where the log is lost, and says which it still has', async () => {
    const store = new JsonSession({ directory: scratch() });
    const session = whose('hal');
    const first = agentOf(
      new ScriptedModel(script, { contextWindow: 6_000 }),
      { summary: {} },
      scratch(),
      store,
    );
    await first.call('Look all of them up.', session);
    await first.close();
    const model = new ScriptedModel(
      [call('recall', { ref: 'r3' }), call('look_up', { what: 'sofa' }), ...script.slice(1)],
      { contextWindow: 6_000 },
    );
    const agent = agentOf(model, { summary: {} }, scratch(), store);
    await agent.call('Go on.', session);
    const log = await collect(agent.log(session).read());
    const results = log.filter(({ role }) => role === 'tool').map(textOf);
    expect(results.find((text) => text.includes('r3'))).toMatch(/r3 cannot be looked up/);
    const summaries = (await agent.state(session))?.context.filter(({ kind }) => kind === 'summary') ?? [];
    const record = summaries.map(textOf).join('\n');
    expect(record).toContain('r3 The velvet sofa of hal');
    const [, ref] = /r2 \(again: r(\d+)\) look_up sofa/.exec(record) ?? [];
    const again = log.find(({ content }) => JSON.stringify(content).includes('"what":"sofa"'));
    expect([...((await agent.log(session).numbers?.([again?.id ?? ''])) ?? [])]).toEqual([
      [again?.id, Number(ref)],
    ]);
    await agent.close();
  });

  it('never shows one user what another one has said, whatever is asked for', async () => {
    const workspace = scratch();
    const asking = [
      ...script,
      call('recall', { query: 'velvet sofa crowns carol dora' }),
      ...[1, 3, 5].map((at) => call('recall', { ref: `r${at}` })),
      { text: 'done' },
    ];
    const model = new ScriptedModel([...asking, ...asking], { contextWindow: 6_000 });
    const agent = agentOf(model, {}, workspace);
    for (const user of ['carol', 'dora']) {
      await agent.call('Look all of them up.', whose(user, 'same'));
      await agent.call('What did the velvet sofa of carol and dora cost?', whose(user, 'same'));
    }
    const requests = JSON.stringify(model.requests.slice(asking.length).map(({ messages }) => messages));
    expect(requests).toContain('sofa of dora costs');
    expect(requests).not.toContain('sofa of carol costs');
    await agent.close();
  });

  it('can be switched off: no tool, no reminder, and nothing points to it', async () => {
    const model = new ScriptedModel([...script, { text: 'I do not know.' }], { contextWindow: 6_000 });
    const agent = agentOf(model, { recall: false });
    await agent.call('Look all of them up.', whose('eve'));
    await agent.call('What did the velvet sofa cost?', whose('eve'));
    const last = model.requests.at(-1);
    expect(last?.messages.some(({ kind }) => kind === 'summary')).toBe(true);
    expect(JSON.stringify([last?.tools, last?.messages])).not.toContain('recall');
    await agent.close();
  });

  it('has the numbers of the log, which may have more than the conversation', async () => {
    const model = new ScriptedModel([{ text: 'Hello.' }, ...script], { contextWindow: 6_000 });
    const agent = agentOf(model, { summary: {} });
    const session = whose('gil');
    await agent.call('Hi!', session);
    await agent.updateState(session, (state) => void state.contextMutable().splice(0));
    await agent.call('Look all of them up.', session);
    const summary = (await agent.state(session))?.context.find(({ kind }) => kind === 'summary') as Message;
    const [, ref] = /r(\d+) The velvet sofa/.exec(textOf(summary)) ?? [];
    const logged: Message[] = [];
    for await (const message of agent.log(session).read()) if (!message.kind) logged.push(message);
    expect(textOf(logged[Number(ref) - 1] as Message)).toMatch(/^The velvet sofa of gil/);
    await agent.close();
  });

  it('goes on without a reminder when the log cannot be read, and says so', async () => {
    const capability = compaction({ model: null });
    const state = AgentState.create({ sessionId: 's' });
    const warnings: unknown[] = [];
    const { messages } = new ScriptedModel([]).requests[0] ?? { messages: [] };
    state
      .contextMutable()
      .push(...messages, { id: 'a', role: 'user', kind: 'summary', createdAt: '', content: [] });
    state
      .contextMutable()
      .push({ id: 'b', role: 'user', createdAt: '', content: [{ type: 'text', text: 'Well?' }] });
    const log = {
      location: 'log',
      append: async () => {},
      get: async () => undefined,
      // biome-ignore lint/correctness/useYield: it fails before there is anything to yield.
      read: async function* () {
        throw new Error('disk on fire');
      },
    };
    const model = new ScriptedModel([], { contextWindow: 50_000 });
    const scope = { state, log, storage: {}, model, emit: (event: unknown) => void warnings.push(event) };
    expect(await capability.remind?.(scope as never)).toEqual([]);
    expect(warnings).toMatchObject([{ type: 'warning', message: expect.stringContaining('disk on fire') }]);
  });
});

describe('the tool compact', () => {
  it('compacts before the next step, keeping what the model asks for', async () => {
    const model = new ScriptedModel(
      [...script, call('compact', { keep: 'the price' }), { text: 'Now there is room.' }],
      { contextWindow: 14_000 },
    );
    const agent = agentOf(model, { compactTool: true });
    await agent.call('Look all of them up.', whose('fay'));
    await agent.call('Tidy up.', whose('fay'));
    const [before, after] = model.requests.slice(-2).map(({ messages }) => messages);
    expect(before?.some(({ kind }) => kind === 'summary')).toBe(false);
    expect(after?.some(({ kind }) => kind === 'summary')).toBe(true);
    expect(after?.length).toBeLessThan(before?.length ?? 0);
    await agent.close();
  });

  it('is not there unless it was asked for', () => {
    const names = (options = {}) => compaction(options).tools?.map(({ definition }) => definition.name);
    expect(names()).toEqual(['recall']);
    expect(names({ compactTool: true })).toEqual(['recall', 'compact']);
    expect(names({ recall: false })).toBeUndefined();
  });
});
