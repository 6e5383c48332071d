import { AIMessage, type BaseMessage, HumanMessage, ToolMessage } from '@langchain/core/messages';
import { createCompactor } from '@x/compaction';
import { type CompactionMiddlewareOptions, compactionMiddleware } from '@x/langchain';
import { createAgent, fakeModel, summarizationMiddleware } from 'langchain';
import { describe, expect, it } from 'vitest';

const SUMMARY = `## SESSION INTENT\nFix the login.\n## SUMMARY\nRead the code.\n## ARTIFACTS\nsrc/login.ts\n## NEXT STEPS\nRun the tests.`;

const asked = (count = 20): BaseMessage[] => [
  ...Array.from({ length: count }, (_, turn) => [
    new HumanMessage({ id: `human-${turn}`, content: `Question ${turn}` }),
    new AIMessage({ id: `ai-${turn}`, content: `Answer ${turn}. ${'More of it. '.repeat(20)}` }),
  ]).flat(),
  new HumanMessage({ id: 'latest', content: 'The latest question' }),
];

/** A summarizer as LangChain's own tests write one: an object with `invoke`, whose type is a text. */
function summarizer(answer: unknown = { content: SUMMARY }, more: object = {}) {
  const calls: { readonly input: unknown; readonly config: Record<string, unknown> }[] = [];
  const model = {
    calls,
    lc_runnable: true,
    _modelType: 'mock',
    getName: () => 'mock-summarizer',
    invoke: async (input: unknown, config: Record<string, unknown>) => {
      calls.push({ input, config });
      return answer;
    },
    ...more,
  };
  return model as typeof model & NonNullable<Exclude<CompactionMiddlewareOptions['model'], string>>;
}

async function run(options: CompactionMiddlewareOptions, config: object = {}, messages = asked()) {
  const model = fakeModel().respond(new AIMessage('Done.'));
  const agent = createAgent({ model, tools: [], middleware: [compactionMiddleware(options)] });
  const result = await agent.invoke({ messages }, config);
  return { sent: model.calls[0]?.messages ?? [], messages: result.messages };
}

it.each<[string, CompactionMiddlewareOptions]>([
  ['keeps more messages than the trigger', { trigger: { messages: 10 }, keep: { messages: 20 } }],
  ['keeps more tokens than the trigger', { trigger: { tokens: 100 }, keep: { tokens: 5_000 } }],
  ['has a trigger below the default of keep', { trigger: [{ tokens: 100_000 }, { messages: 10 }] }],
  ['keeps many messages without a trigger', { keep: { messages: 60 } }],
  ['has an empty prompt', { summaryPrompt: '', trigger: { messages: 30 } }],
  ['asks for a share of a window before it is known', { trigger: { fraction: 0.5 } }],
])('constructs what LangChain constructs: an agent that %s', (_, options) => {
  const model = summarizer();
  expect(() => summarizationMiddleware({ model, ...options } as never)).not.toThrow();
  expect(() => compactionMiddleware({ model, ...options })).not.toThrow();
});

it('leaves a conversation alone that is shorter than what is kept', async () => {
  const { sent } = await run({ trigger: { messages: 10 }, keep: { messages: 60 } });
  expect(sent).toHaveLength(41);
});

it.each([
  ['as LangChain counts', undefined, 3],
  ['as its own counter says', (messages: readonly BaseMessage[]) => messages.length * 20, 6],
])('keeps as many tokens of messages as fit, %s', async (_, tokenCounter, count) => {
  const options = {
    model: summarizer(),
    trigger: { tokens: 300 },
    keep: { tokens: 120 },
    ...(tokenCounter ? { tokenCounter } : {}),
  };
  const { messages } = await run(options as CompactionMiddlewareOptions);
  const theirs = createAgent({
    model: fakeModel().respond(new AIMessage('Done.')),
    tools: [],
    middleware: [
      summarizationMiddleware(options as never) as unknown as ReturnType<typeof compactionMiddleware>,
    ],
  });
  const kept = ({ id, additional_kwargs }: BaseMessage) =>
    /^(?:human-|ai-|latest)/.test(id ?? '') && additional_kwargs.lc_source === undefined;
  const expected = (await theirs.invoke({ messages: asked() })).messages.filter(kept).map(({ id }) => id);
  expect(messages.filter(kept).map(({ id }) => id)).toEqual(expected);
  expect(expected).toHaveLength(count);
});

it('never summarizes before the provider refuses unless a trigger is named, or a compactor has its own', async () => {
  const many = asked(2_000);
  expect((await run({ model: summarizer() }, {}, many)).sent).toHaveLength(many.length);
  const compactor = createCompactor();
  expect((await run({ compactor }, {}, many)).sent.length).toBeLessThan(many.length);
});

it('takes the settings of a single run from its context', async () => {
  const model = summarizer();
  const context = { trigger: { messages: 30 }, keep: { messages: 4 }, summaryPrefix: 'Earlier:' };
  const { sent, messages } = await run({ model, trigger: { messages: 1_000 } }, { context });
  expect(sent).toHaveLength(5);
  expect(messages[0]?.text).toMatch(/^Earlier:\n\n/);
  const prompted = summarizer();
  await run(
    { model: prompted, trigger: { messages: 30 } },
    { context: { summaryPrompt: 'Only names of {messages}' } },
  );
  expect(prompted.calls[0]?.input).toContain('Only names of');
  const counted = { trigger: { tokens: 500_000 }, tokenCounter: () => 600_000 };
  expect((await run({ model: summarizer() }, { context: counted })).sent.length).toBeLessThan(41);
});

it.each([{ provider: 'openai', name: 'gpt-5' }, 'fast', summarizer()])(
  'leaves the `model` in the context of a run to the application: %o',
  async (model) => {
    const own = summarizer();
    const { messages } = await run({ model: own, trigger: { messages: 30 } }, { context: { model } });
    expect(own.calls).toHaveLength(1);
    expect(messages[0]?.text).toContain('Fix the login.');
    if (typeof model === 'object' && 'calls' in model) expect(model.calls).toEqual([]);
  },
);

it('starts with options that only another version knows, and warns of them', async () => {
  const warned: string[] = [];
  const onWarning = ({ message }: Error) => void warned.push(message);
  process.on('warning', onWarning);
  const options = { trigger: { messages: 30, turns: 3 }, keep: { messages: 4, turns: 2 }, retries: 3 };
  const { sent } = await run({ model: summarizer(), ...options } as CompactionMiddlewareOptions);
  await new Promise(setImmediate);
  process.off('warning', onWarning);
  expect(sent).toHaveLength(5);
  expect(warned.join()).toContain('retries: unknown option');
});

const TURN = 60;
const CALLS = [
  { id: 'c', name: 't', args: {} },
  { id: 'd', name: 't', args: {} },
];
const working: BaseMessage[] = [
  ...asked(4).slice(0, -1),
  new HumanMessage({ id: 'request', content: 'Do both' }),
  new AIMessage({ id: 'calls', content: '', tool_calls: CALLS }),
  ...CALLS.map(({ id }) => new ToolMessage({ id: `of-${id}`, content: 'r', tool_call_id: id, name: 't' })),
];

it.each<[string, CompactionMiddlewareOptions, readonly BaseMessage[], readonly string[]]>([
  ['most of the messages', { trigger: { tokens: 2_500 }, keep: { messages: 100 } }, asked(TURN), []],
  ['most of the tokens', { trigger: { tokens: 2_500 }, keep: { tokens: 2_300 } }, asked(TURN), []],
  ['few messages', { trigger: { messages: 30 }, keep: { messages: 4 } }, asked(), []],
  ['more than the trigger says', { trigger: { tokens: 300 }, keep: { messages: 40 } }, asked(), []],
  // LangChain has the live request go: it stands behind the summary here.
  ['nothing', { trigger: { messages: 6 }, keep: { messages: 0 } }, asked(), ['latest']],
  ['the last of two calls', { trigger: { messages: 6 }, keep: { messages: 1 } }, working, ['request']],
])('leaves behind the summary what LangChain leaves: %s', async (_, options, messages, more) => {
  const theirs = summarizationMiddleware({ model: summarizer(), ...options } as never);
  const agent = createAgent({
    model: fakeModel().respond(new AIMessage({ id: 'done', content: 'Done.' })),
    tools: [],
    middleware: [theirs as unknown as ReturnType<typeof compactionMiddleware>],
  });
  const expected = (await agent.invoke({ messages: [...messages] })).messages.map(({ id }) => id);
  const [summary, ...rest] = (await run({ model: summarizer(), ...options }, {}, [...messages])).messages;
  expect(summary?.text).toMatch(/^Here is a summary of the conversation to date:\n\n## SESSION INTENT/);
  // The summary has the id of the first message that it stands for.
  expect([summary?.id, ...rest.slice(more.length, -1).map(({ id }) => id)]).toEqual(expected.slice(0, -1));
  expect(rest.slice(0, more.length).map(({ id }) => id)).toEqual(more);
});

it('keeps what is to stay after an overflow too, and asks the summarizer however short the messages are', async () => {
  const tooLong = Object.assign(new Error('Your input exceeds the context window of this model'), {
    code: 'context_length_exceeded',
  });
  const answer = (messages: BaseMessage[]) => (messages.length > 4 ? tooLong : new AIMessage('Done.'));
  const model = fakeModel().respond(answer).respond(answer);
  const writer = summarizer();
  const middleware = compactionMiddleware({ model: writer, keep: { messages: 2 } });
  const agent = createAgent({ model, tools: [], middleware: [middleware] });
  const { messages } = await agent.invoke({ messages: asked(6) });
  expect(writer.calls).toHaveLength(1);
  expect(messages.slice(0, 3).map(({ id }) => id)).toEqual(['human-0', 'ai-5', 'latest']);
  expect(messages[0]?.text).toContain('Fix the login.');
});

it('makes an earlier summary smaller where an overflow leaves nothing else', async () => {
  const earlier = new HumanMessage({
    id: 'earlier',
    content: `Here is a summary of the conversation to date:\n\n${Array.from({ length: 400 }, (_, at) => `Fact ${at} holds.`).join(' ')}`,
    additional_kwargs: { lc_source: 'summarization' },
  });
  const tooLong = new Error('Your input exceeds the context window of this model');
  const answer = (messages: BaseMessage[]) =>
    messages.map(({ text }) => text).join('').length > 4_000 ? tooLong : new AIMessage('Done.');
  const model = fakeModel().respond(answer).respond(answer);
  const middleware = compactionMiddleware({ model: summarizer(), keep: { messages: 2 } });
  const agent = createAgent({ model, tools: [], middleware: [middleware] });
  const { messages } = await agent.invoke({ messages: [earlier, ...asked(1).slice(1)] });
  expect(messages.at(-1)?.text).toBe('Done.');
});

it('loses no answer to a listener that throws', async () => {
  const onCompaction = () => {
    throw new Error('metrics down');
  };
  const { messages } = await run({ model: summarizer(), trigger: { messages: 30 }, onCompaction });
  expect(messages.at(-1)?.text).toBe('Done.');
});

it('writes no line in front of a summary where the prefix is empty, and no record where none is wanted', async () => {
  const { messages } = await run({
    model: summarizer(),
    trigger: { messages: 30 },
    summaryPrefix: '',
    compaction: { summary: { record: 0 } },
  });
  expect(messages[0]?.text).toBe(SUMMARY);
});

it('merges the metadata and tags of the run into the call of the summarizer, and hands on its signal', async () => {
  const model = summarizer();
  const middleware = compactionMiddleware({ model, trigger: { messages: 30 }, keep: { messages: 4 } });
  const { signal } = new AbortController();
  const runtime = { context: {}, metadata: { tenant: 'acme' }, tags: ['run-7'], signal };
  const hook = middleware.beforeModel as (state: object, runtime: object) => Promise<unknown>;
  await hook({ messages: asked() }, runtime);
  expect(model.calls[0]?.config).toMatchObject({
    metadata: { tenant: 'acme', lc_source: 'summarization' },
    tags: expect.arrayContaining(['run-7', 'nostream']),
    signal: expect.any(AbortSignal),
  });
});

it.each([
  ['a text', SUMMARY],
  ['an object', { content: SUMMARY }],
  ['an object of parts', { content: [{ type: 'text', text: SUMMARY }] }],
])('takes %s for the answer of a summarizer', async (_, answer) => {
  const { messages } = await run({
    model: summarizer(answer),
    trigger: { messages: 30 },
    keep: { messages: 4 },
  });
  expect(messages[0]?.text).toContain('Fix the login.');
  expect(messages[0]?.text).not.toContain('[object Object]');
});

it('marks a summary exactly as LangChain does, with its prefix unless another is given', async () => {
  const options = { model: summarizer(), trigger: { messages: 30 }, keep: { messages: 4 } };
  const { messages } = await run(options);
  expect(messages[0]?.additional_kwargs).toStrictEqual({ lc_source: 'summarization' });
  expect(messages[0]?.text).toMatch(/^Here is a summary of the conversation to date:\n\n/);
  const own = await run({ ...options, summaryPrefix: 'Earlier:' });
  expect(own.messages[0]?.text).not.toContain('Here is a summary of the conversation');
});

it('reads the window when it is needed, by profile or by name', async () => {
  const trigger = { fraction: 0.02 };
  const late = summarizer(undefined, { profile: {} });
  const middleware = { model: late, trigger, keep: { messages: 4 } };
  await expect(run(middleware)).rejects.toThrow('Model profile information is required');
  Object.assign(late, { profile: { maxInputTokens: 10_000 } });
  expect((await run(middleware)).sent.length).toBeLessThan(41);
  const named = summarizer(undefined, { model: 'gpt-4' });
  expect((await run({ ...middleware, model: named })).sent.length).toBeLessThan(41);
});

it('lets the summarizer read the newest tokens that are asked for, and has the record tell of older calls', async () => {
  const calls = [{ id: 'c1', name: 'book', args: { order: 'W-53' } }];
  const first = [
    new HumanMessage({ id: 'first', content: 'Book it' }),
    new AIMessage({ id: 'call', content: '', tool_calls: calls }),
    new ToolMessage({ id: 'result', content: 'booked', tool_call_id: 'c1', name: 'book' }),
  ];
  for (const trimTokensToSummarize of [4_000, 1]) {
    const model = summarizer();
    const options = { model, trigger: { messages: 30 }, keep: { messages: 4 }, trimTokensToSummarize };
    const { messages } = await run(options, {}, [...first, ...asked(150)]);
    expect(model.calls).toHaveLength(1);
    const input = String(model.calls[0]?.input);
    expect(input.length / 4).toBeLessThan(trimTokensToSummarize + 1_100);
    expect(input).toContain('Question 148');
    expect(input).not.toContain('W-53');
    expect(messages[0]?.text).toContain('W-53');
  }
});

it('takes what the model writes for the summary, after one call, as LangChain does', async () => {
  const options = { trigger: { messages: 30 }, keep: { messages: 4 } };
  const free = summarizer({
    content:
      'The user fixes a login. The code was read; the tests are to be run next, and the fix is in src/login.ts, line 40.',
  });
  const { messages } = await run({ model: free, ...options });
  expect(free.calls).toHaveLength(1);
  expect(messages[0]?.text).toContain('The user fixes a login.');
});

it('takes over the summary that LangChain’s own middleware left in a thread', async () => {
  const left = new HumanMessage({
    id: 'left',
    content: 'Here is a summary of the conversation to date:\n\nThe pier is P-77.',
    additional_kwargs: { lc_source: 'summarization' },
  });
  const fates: Record<string, string> = {};
  const onCompaction: CompactionMiddlewareOptions['onCompaction'] = ({ manifest }) => {
    for (const { messageId, fate } of manifest) fates[messageId] = fate;
  };
  const { messages } = await run({ trigger: { messages: 30 }, onCompaction }, {}, [left, ...asked()]);
  expect(fates.left).toBe('merged');
  // What an interface shows as the summary stays the one that it knows.
  expect(messages.find(({ id }) => id === 'left')?.text).toContain('## RECORD');
  expect(messages.map(({ text }) => text).join('\n')).toContain('P-77');
});

describe('a trigger that is reached', () => {
  const short = (count: number): BaseMessage[] =>
    asked(count).map((message, index) => Object.assign(message, { content: `Word ${index}` }));

  it.each([
    ['the number of messages', { trigger: { messages: 5 }, keep: { messages: 4 } }, 4],
    [
      'the number of messages, far fewer of which stay',
      { trigger: [{ messages: 3 }, { tokens: 900 }], keep: { messages: 1 } },
      1,
    ],
    ['a counter of its own', { trigger: { tokens: 50 }, keep: { messages: 2 }, tokenCounter: () => 60 }, 2],
  ])(
    'is followed by a summary however short the messages are, with exactly what is kept: %s',
    async (_, options, kept) => {
      const model = summarizer();
      const { sent } = await run({ model, ...options }, {}, short(2));
      expect(model.calls).toHaveLength(1);
      expect(sent[0]?.text).toContain('Fix the login.');
      expect(sent.slice(1).map(({ text }) => text)).toEqual(
        short(2)
          .slice(-kept)
          .map(({ text }) => text),
      );
    },
  );

  it('is not followed by another summary where nothing is new', async () => {
    const model = summarizer();
    const options = { model, trigger: { messages: 3 }, keep: { messages: 2 } };
    const { messages } = await run(options, {}, short(2));
    const { sent } = await run(options, {}, messages.slice(0, 3));
    expect(model.calls).toHaveLength(1);
    expect(sent).toHaveLength(3);
  });

  it('has the record stand in where the summarizer fails, however little it has to tell', async () => {
    const invoke = () => Promise.reject(new Error('overloaded'));
    const options = {
      model: summarizer(undefined, { invoke }),
      trigger: { messages: 3 },
      keep: { messages: 1 },
    };
    const { sent } = await run(options, {}, short(2));
    expect(sent).toHaveLength(2);
    expect(sent[0]?.text).toContain('Word 3');
  });

  it('has the summarizer tell what the user asked, which stands nowhere else', async () => {
    const model = summarizer();
    await run({ model, trigger: { messages: 30 }, keep: { messages: 4 } });
    expect(model.calls[0]?.input).toContain(
      'put all their wishes, limits, numbers and names into your record',
    );
  });
});
