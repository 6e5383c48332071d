import {
  type ContentBlock,
  defineTool,
  type JsonValue,
  type Model,
  type ModelResponse,
  type ModelStreamPart,
  RuntimeContext,
  textOf,
  toolResultsOf,
  toolUsesOf,
} from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { HarnessAgent, type Limits } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const ran: unknown[] = [];
const look = defineTool({
  name: 'look',
  description: '',
  readOnly: true,
  input: { type: 'object' },
  execute: (input) => ran.push(input) && 'seen',
});

function build(model: Model, limits: Limits = {}) {
  ran.length = 0;
  return HarnessAgent.builder()
    .model(model)
    .tools(look)
    .limits(limits)
    .onEvent(() => {})
    .workspace(scratch())
    .build();
}

/** Streams a piece forever. */
function endless(piece: ModelStreamPart): Model {
  return {
    id: 'endless',
    generate: () => Promise.reject(new Error('It streams.')),
    async *stream() {
      for (;;) yield piece;
    },
  };
}

describe('an answer that is too long', () => {
  it.each([
    ['text', { type: 'text-delta', text: 'words ' }],
    ['thoughts', { type: 'thinking-delta', text: 'Hm. ' }],
    ['the input of a call', { type: 'tool-call-delta', id: 'c', name: 'look', inputDelta: '"a",' }],
    ['blank lines', { type: 'text-delta', text: '\n' }],
    ['blanks in an input', { type: 'tool-call-delta', id: 'c', name: 'look', inputDelta: ' ' }],
  ] as const)('is cut while it is streamed: %s', async (_, piece) => {
    const agent = build(endless(piece), { answerBytes: 10_000 });
    const reply = await agent.stream('Go', context).reply;
    expect(reply.stopReason).toBe('truncated');
    expect(reply.text.length).toBeLessThanOrEqual(10_000);
    expect(ran).toEqual([]);
  });

  it('is cut when it comes whole, and none of its calls runs', async () => {
    const large: ContentBlock = {
      type: 'tool_use',
      id: 'c',
      name: 'look',
      input: { text: 'x'.repeat(20_000) },
    };
    const answers: readonly ContentBlock[][] = [
      [{ type: 'text', text: 'x'.repeat(20_000) }],
      [{ type: 'tool_use', id: 'b', name: 'look', input: {} }, large],
      [{ type: 'text', text: 'fine' }],
    ];
    let asked = 0;
    const generate = async (): Promise<ModelResponse> => ({
      content: answers[asked++] ?? [],
      finishReason: 'stop',
    });
    const agent = build({ id: 'large', generate }, { answerBytes: 10_000 });
    const cut = await agent.call('Go', context);
    expect([cut.stopReason, cut.text.length]).toEqual(['truncated', 10_000]);
    const next = await agent.call('Look', context);
    expect(next.text).toBe('fine');
    expect(next.messages.flatMap(toolResultsOf).map(({ output }) => textOf(output))).toEqual([
      expect.stringContaining('Not run: your answer was cut off'),
    ]);
    expect(ran).toEqual([]);
  });

  it.each<[string, ContentBlock]>([
    ['the name of a call', { type: 'tool_use', id: 'c', name: 'x'.repeat(20_000), input: {} }],
    ['the id of a call', { type: 'tool_use', id: 'x'.repeat(20_000), name: 'look', input: {} }],
    ['an item of the provider', { type: 'opaque', provider: 'p', data: { item: 'x'.repeat(20_000) } }],
    [
      'the metadata of a text',
      { type: 'text', text: 'Hi', providerMetadata: { p: { signature: 'x'.repeat(20_000) } } },
    ],
  ])('is cut wherever it is long: %s', async (_, block) => {
    const generate = async (): Promise<ModelResponse> => ({ content: [block], finishReason: 'stop' });
    const agent = build({ id: 'large', generate }, { answerBytes: 10_000 });
    expect(await agent.call('Go', context)).toMatchObject({ stopReason: 'truncated' });
    expect(JSON.stringify(await agent.state(context)).length).toBeLessThan(10_000);
  });

  it('is whole where the limit is off', async () => {
    const text = 'x'.repeat(5_000_000);
    expect((await build(new ScriptedModel([{ text }]), { answerBytes: 0 }).call('Go', context)).text).toBe(
      text,
    );
  });
});

it('runs so many calls of an answer, and tells the model of the others', async () => {
  const calls = Array.from({ length: 5_000 }, (_, index) => ({
    id: `c${index}`,
    name: 'look',
    input: { index },
  }));
  const model = new ScriptedModel([{ toolCalls: calls }, { text: 'ok' }, { text: 'later' }]);
  const agent = build(model);
  const { messages } = await agent.call('Go', context);
  expect(messages.flatMap(toolUsesOf)).toHaveLength(128);
  expect(ran).toHaveLength(128);
  const said = (at: number) => JSON.stringify(model.requests[at]?.messages);
  expect(said(1)).toContain('4872 calls of your last answer were not run');
  await agent.call('And now?', context);
  expect(said(2)).not.toContain('were not run');
});

it('gives other work a turn between batches of calls that hold the process', async () => {
  const calls = Array.from({ length: 100 }, (_, index) => ({ id: `c${index}`, name: 'hold', input: {} }));
  let turns = 0;
  const hold = defineTool({
    name: 'hold',
    description: '',
    input: { type: 'object' },
    sessionOnly: true,
    execute: () => {
      for (const end = performance.now() + 10; performance.now() < end; );
      return `${turns}`;
    },
  });
  const count = (): void => {
    turns++;
    timer = setTimeout(count);
  };
  let timer = setTimeout(count);
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([{ toolCalls: calls }, { text: 'ok' }]))
    .tools(hold)
    .workspace(scratch())
    .build();
  await agent.call('Go', context);
  clearTimeout(timer);
  expect(turns).toBeGreaterThan(5);
});

it('checks inputs against a slow schema within a limit, once each, and other work gets a turn between them', async () => {
  let turns = 0;
  const count = (): void => {
    turns++;
    timer = setImmediate(count);
  };
  let timer = setImmediate(count);
  const tool = defineTool({
    name: 'slow',
    description: '',
    input: { type: 'object', properties: { a: { type: 'string', pattern: '^(a+)+$' } } },
    execute: () => 'ran',
  });
  const checks: { readonly text: string; readonly turns: number }[] = [];
  const parse = (input: JsonValue) => {
    const text = (input as { readonly a: string }).a;
    if (text.endsWith('!')) checks.push({ text, turns });
    return tool.parse?.(input) as JsonValue;
  };
  // Every call that runs has the calls behind it judged again.
  const toolCalls = Array.from({ length: 40 }, (_, at) => ({
    id: `c${at}`,
    name: 'slow',
    input: { a: at % 2 ? `${'a'.repeat(60 + at)}!` : 'a' },
  }));
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([{ toolCalls }, { text: 'ok' }]))
    .tools({ ...tool, parse })
    .workspace(scratch())
    .build();
  const { messages } = await agent.call('Go', context);
  clearImmediate(timer);
  const results = messages.flatMap(toolResultsOf).map(({ output }) => textOf(output));
  expect(results).toHaveLength(40);
  expect(results[0]).toBe('ran');
  expect(results[1]).toMatch('cannot be checked within 100 ms');
  expect(results.at(-1)).toMatch(/^Not run: it took too long to check/);
  // A check that is stopped has used at least 0.9 of its 100 ms.
  expect(checks.length).toBeLessThan(8);
  expect(new Set(checks.map(({ text }) => text)).size).toBe(checks.length);
  // Two quick checks may share a turn.
  expect(new Set(checks.map((each) => each.turns)).size).toBeGreaterThan(checks.length / 2);
});

it('checks an invalid input once, also with an asynchronous schema', async () => {
  const checked: string[] = [];
  const tool = defineTool({ name: 'slow', description: '', input: { type: 'object' }, execute: () => 'ran' });
  const parse = async (input: JsonValue) => {
    const { a } = input as { readonly a: string };
    checked.push(a);
    if (a.startsWith('bad')) throw new Error(a);
    return input;
  };
  const inputs = ['good', 'bad 1', 'good', 'bad 2'];
  const toolCalls = inputs.map((a, at) => ({ id: `c${at}`, name: 'slow', input: { a } }));
  const agent = HarnessAgent.builder()
    .model(new ScriptedModel([{ toolCalls }, { text: 'ok' }]))
    .tools({ ...tool, parse })
    .workspace(scratch())
    .build();
  const { messages } = await agent.call('Go', context);
  const results = messages.flatMap(toolResultsOf).map(({ output }) => textOf(output));
  expect(results).toEqual(['ran', expect.stringContaining('bad 1'), 'ran', expect.stringContaining('bad 2')]);
  expect(checked.filter((a) => a.startsWith('bad'))).toEqual(['bad 1', 'bad 2']);
});

it('takes a reason that nobody knows for an end, with a warning', async () => {
  const answer = {
    content: [{ type: 'text', text: 'Well' }],
    finishReason: 'banana',
  } as unknown as ModelResponse;
  const agent = build({ id: 'odd', generate: async () => answer });
  const warnings: string[] = [];
  const stream = agent.stream('Go', context);
  for await (const event of stream) if (event.type === 'warning') warnings.push(event.message);
  expect(await stream.reply).toMatchObject({ text: 'Well', finishReason: 'other', stopReason: 'completed' });
  expect(warnings).toEqual([expect.stringContaining('"banana"')]);
});

describe('calls whose ids the model uses again', () => {
  it('have ids of their own in the whole session, as they are streamed and as they are kept', async () => {
    const use = (input: string) => ({ toolCalls: [{ id: 'call_0', name: 'look', input: { input } }] });
    const agent = build(new ScriptedModel([use('a'), use('b'), { text: 'one' }, use('c'), { text: 'two' }]));
    const streamed: string[] = [];
    for (const text of ['Go', 'On']) {
      for await (const event of agent.stream(text, context))
        if (event.type === 'tool.delta') streamed.push(event.toolUseId);
    }
    const messages = (await agent.state(context))?.context ?? [];
    const kept = messages.flatMap(toolUsesOf).map(({ id }) => id);
    expect(new Set(kept).size).toBe(3);
    expect(kept[0]).toBe('call_0');
    expect([...new Set(streamed)]).toEqual(kept);
    expect(isPaired(messages)).toBe(true);
  });

  it('get none that an earlier call had, also when that is out of the conversation', async () => {
    const use = { toolCalls: [{ id: 'call_0', name: 'look', input: {} }] };
    const agent = build(new ScriptedModel([use, use, { text: 'one' }, use, { text: 'two' }]));
    const first = (await agent.call('Go', context)).messages.flatMap(toolUsesOf);
    await agent.updateState(context, (state) => void state.contextMutable().splice(0));
    const second = (await agent.call('On', context)).messages.flatMap(toolUsesOf);
    expect(new Set([...first, ...second].map(({ id }) => id)).size).toBe(3);
  });
});
