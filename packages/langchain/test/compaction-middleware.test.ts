import { setImmediate } from 'node:timers/promises';
import {
  AIMessage,
  type BaseMessage,
  HumanMessage,
  SystemMessage,
  ToolMessage,
} from '@langchain/core/messages';
import { MemorySaver, MessagesAnnotation, START, StateGraph } from '@langchain/langgraph';
import { createCompactor, truncateArgs } from '@x/compaction';
import type { CompactionOutcome, Model, Usage } from '@x/core';
import { compactionMiddleware } from '@x/langchain';
import { createAgent, createMiddleware, fakeModel, summarizationMiddleware, tool } from 'langchain';
import { expect, it } from 'vitest';
import { z } from 'zod';

const GOOD_SUMMARY = [
  '## SESSION INTENT',
  'Fix the login.',
  '## SUMMARY',
  'Read the code, found the cause.',
  '## ARTIFACTS',
  'src/login.ts changed',
  '## NEXT STEPS',
  'Run the tests.',
].join('\n');

const read = tool(async ({ path }) => `contents of ${path}\n`.repeat(60), {
  name: 'read_file',
  description: 'Reads a file',
  schema: z.object({ path: z.string() }),
});

const turns = (count: number): BaseMessage[] =>
  Array.from({ length: count }, (_, turn) => [
    new HumanMessage({ id: `human-${turn}`, content: `Question ${turn}` }),
    new AIMessage({ id: `ai-${turn}`, content: `Answer ${turn}. ${'More of it. '.repeat(20)}` }),
  ]).flat();
const asked = (count: number) => [
  ...turns(count),
  new HumanMessage({ id: 'latest', content: 'The latest question' }),
];

/** Calls and results as ids, in order. */
function pairing(messages: readonly BaseMessage[]) {
  const calls = messages.flatMap((message) =>
    AIMessage.isInstance(message) ? (message.tool_calls ?? []) : [],
  );
  const results = messages.flatMap((message) =>
    ToolMessage.isInstance(message) ? [message.tool_call_id] : [],
  );
  return { calls: calls.map(({ id }) => id), results };
}

it('sends no half of a character, which providers refuse in every later request too', async () => {
  const model = fakeModel().respond(new AIMessage('ok'));
  const middleware = [compactionMiddleware({ model })];
  const agent = createAgent({ model, systemPrompt: 'You are \ud83d.', middleware });
  const call = new AIMessage({
    content: '',
    tool_calls: [{ id: 'c', name: 'read_file', args: { path: 'a\ud83d' } }],
  });
  const result = new ToolMessage({ content: '[🌤💼\ud83d…', tool_call_id: 'c', artifact: { kept: true } });
  await agent.invoke({ messages: [new HumanMessage('cut \ud83d'), call, result] });
  const [sent] = model.calls;
  expect(JSON.stringify(sent?.messages)).not.toMatch(/\\ud[89a-f]/);
  const texts = ['You are \ufffd.', 'cut \ufffd', '', '[🌤💼\ufffd…'];
  expect(sent?.messages.map(({ text }) => text)).toEqual(texts);
});

it('passes the very messages of a request on, which other middleware edits in place', async () => {
  const model = fakeModel().respond(new AIMessage('Here you are.'));
  const messages = asked(20);
  const agent = createAgent({
    model,
    middleware: [
      compactionMiddleware(),
      createMiddleware({
        name: 'Editor',
        wrapModelCall: (request, handler) => {
          request.messages.splice(0, 2);
          return handler(request);
        },
      }),
    ],
  });
  const { messages: kept } = await agent.invoke({ messages });
  // As without the compactor: LangChain's own editing changes the state so.
  expect(kept).toHaveLength(messages.length - 1);
});

it.each(['own', 'given'])(
  'uses a late narrative at the next compaction, with its %s compactor',
  async (whose) => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    let asked = 0;
    const write = async () => {
      asked++;
      await gate;
      return GOOD_SUMMARY;
    };
    const summary = { waitMs: 0 };
    const spent: Usage[] = [];
    const onUsage = (usage: Usage) => void spent.push(usage);
    const trigger = { messages: 30 };
    const summarizer: Model = {
      id: 'acme:small',
      generate: async () => ({ content: [{ type: 'text', text: await write() }], finishReason: 'stop' }),
    };
    const middleware = compactionMiddleware(
      whose === 'own'
        ? {
            model: { invoke: write } as never,
            trigger,
            keep: { messages: 4 },
            compaction: { summary },
            onUsage,
          }
        : {
            compactor: createCompactor({ model: summarizer, trigger, keep: { messages: 4 }, summary }),
            onUsage,
          },
    );
    let messages = turns(20);
    for (let compaction = 1; compaction <= 2; compaction++) {
      messages.push(new HumanMessage(`Go on ${compaction}`));
      const called = createAgent({
        model: fakeModel().respond(new AIMessage('ok')),
        middleware: [middleware],
      });
      ({ messages } = await called.invoke({ messages }));
      if (compaction === 1) {
        expect(asked).toBe(1);
        expect(JSON.stringify(messages)).not.toContain('Fix the login.');
        expect(spent).toEqual([]);
        release();
        await setImmediate();
        expect(spent).toHaveLength(1);
      }
      for (let turn = 0; turn < 16; turn++) {
        const said = `${compaction}.${turn} ${'More of it. '.repeat(20)}`;
        messages.push(new HumanMessage(`Question ${said}`), new AIMessage(`Answer ${said}`));
      }
    }
    expect(JSON.stringify(messages)).toContain('Fix the login.');
  },
);

it.each(['early', 'late'])(
  'gives no conversation the narrative of another one with the same message ids: %s',
  async (when) => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const asked: string[] = [];
    const invoke = async (input: unknown) => {
      const who = JSON.stringify(input).includes('Alice') ? 'Alice' : 'Bob';
      asked.push(JSON.stringify(input));
      await gate;
      return GOOD_SUMMARY.replace('Fix the login.', `Fix the login of ${who}.`);
    };
    const middleware = compactionMiddleware({
      model: { invoke } as never,
      trigger: { messages: 30 },
      keep: { messages: 4 },
      compaction: { summary: { waitMs: 0 } },
    });
    const run = async (messages: BaseMessage[]) => {
      const agent = createAgent({
        model: fakeModel().respond(new AIMessage({ id: 'answer', content: 'ok' })),
        middleware: [middleware],
      });
      return (await agent.invoke({ messages })).messages;
    };
    const said = (who: string, from: number, to: number) =>
      Array.from({ length: to - from }, (_, at) => {
        const fields = { id: `${from + at}`, content: `${who} ${from + at} ${'More of it. '.repeat(20)}` };
        return at % 2 === 0 ? new HumanMessage(fields) : new AIMessage(fields);
      });
    await run(said('Alice', 0, 41));
    let messages = when === 'late' ? await run(said('Bob', 0, 41)) : [];
    release();
    await setImmediate();
    messages = await run([...messages, ...said('Bob', messages.length === 0 ? 0 : 41, 82)]);
    expect(JSON.stringify([messages, asked.slice(1)])).not.toContain('of Alice');
  },
);

it('takes the place of summarizationMiddleware with the same options', async () => {
  const model = fakeModel().respond(new AIMessage('Here you are.')).respond(new AIMessage('Here you are.'));
  const summarizer = fakeModel().respond(new AIMessage(GOOD_SUMMARY)).respond(new AIMessage(GOOD_SUMMARY));
  const options = { model: summarizer, trigger: { messages: 30 }, keep: { messages: 4 } };
  // Its types do not hold under exactOptionalPropertyTypes.
  const original = summarizationMiddleware(options as never) as unknown as ReturnType<
    typeof compactionMiddleware
  >;
  const before = createAgent({ model, tools: [], middleware: [original] });
  const after = createAgent({ model, tools: [], middleware: [compactionMiddleware(options)] });
  const theirs = await before.invoke({ messages: asked(20) });
  const ours = await after.invoke({ messages: asked(20) });
  expect(summarizer.calls).toHaveLength(2);
  expect(ours.messages).toHaveLength(theirs.messages.length);
  for (const [index, { messages }] of [theirs, ours].entries()) {
    expect(model.calls[index]?.messages).toHaveLength(messages.length - 1);
    expect(messages[0]?.text).toContain('Fix the login.');
    expect(messages[0]).toMatchObject({ type: 'human', additional_kwargs: { lc_source: 'summarization' } });
    expect(
      messages
        .slice(-5)
        .map(({ id }) => id)
        .slice(0, 4),
    ).toEqual(['ai-18', 'human-19', 'ai-19', 'latest']);
    expect(messages.at(-1)?.text).toBe('Here you are.');
  }
});

it('keeps an agent with tools within its window, calls and results together, and the record across summaries', async () => {
  const STEPS = 40;
  const outcomes: CompactionOutcome[] = [];
  const model = fakeModel();
  for (let index = 0; index < STEPS; index++) {
    // Without content of its own a fake model repeats all that it was sent.
    model.respond(
      new AIMessage({
        content: 'The next one.',
        tool_calls: [
          {
            name: 'read_file',
            args: { path: `src/file-${index}.ts` },
            id: `call-${index}`,
            type: 'tool_call',
          },
        ],
      }),
    );
  }
  model.respond(new AIMessage('All read.'));
  const agent = createAgent({
    model,
    tools: [read],
    systemPrompt: 'You read files.',
    middleware: [
      compactionMiddleware({
        contextWindow: 8_000,
        trigger: { fraction: 0.8 },
        keep: { messages: 6 },
        onCompaction: (outcome) => void outcomes.push(outcome),
      }),
    ],
  });
  const { messages } = await agent.invoke(
    { messages: [new HumanMessage('Read all files')] },
    { recursionLimit: 200 },
  );
  expect(messages.at(-1)?.text).toBe('All read.');
  expect(outcomes.filter(({ status }) => status === 'applied').length).toBeGreaterThan(1);
  expect(model.calls).toHaveLength(STEPS + 1);
  for (const call of model.calls) {
    const { calls, results } = pairing(call.messages);
    expect(results).toEqual(calls);
    expect(JSON.stringify(call.messages.map(({ content }) => content)).length / 4).toBeLessThan(8_000);
    expect(call.messages.some(({ text }) => text === 'Read all files')).toBe(true);
  }
  const summaries = messages.filter(
    ({ additional_kwargs }) => additional_kwargs.lc_source === 'summarization',
  );
  expect(summaries).toHaveLength(1);
  expect(summaries[0]?.text).toContain('src/file-0.ts');
});

it.each(['throws', 'throws LangChain’s own error'])(
  'compacts and asks once more when the provider %s',
  async (how) => {
    const tooLong =
      how === 'throws'
        ? Object.assign(new Error('prompt is too long: 213462 tokens > 200000 maximum'), { status: 400 })
        : Object.assign(new Error('Too much.'), { name: 'ContextOverflowError' });
    const fits = (messages: readonly BaseMessage[]) => messages.length <= 30;
    const answer = (messages: BaseMessage[]) => (fits(messages) ? new AIMessage('Fits.') : tooLong);
    const model = fakeModel().respond(answer).respond(answer).respond(answer);
    const outcomes: CompactionOutcome[] = [];
    const agent = createAgent({
      model,
      tools: [],
      systemPrompt: 'You help.',
      middleware: [
        compactionMiddleware({
          trigger: { messages: 1_000 },
          keep: { messages: 6 },
          onCompaction: (outcome) => void outcomes.push(outcome),
        }),
      ],
    });
    const first = await agent.invoke({ messages: asked(40) });
    expect(first.messages.at(-1)?.text).toBe('Fits.');
    expect(outcomes.at(-1)?.status).toBe('applied');
    expect(model.calls.map(({ messages }) => fits(messages))).toEqual([false, true]);
    expect(model.calls[1]?.messages[0]?.text).toBe('You help.');

    // The next step writes into the state what was reduced within the call.
    const second = await agent.invoke({ messages: [...first.messages, new HumanMessage('On')] });
    expect(model.calls).toHaveLength(3);
    expect(second.messages.length).toBeLessThan(30);
    expect(second.messages.slice(-3).map(({ text }) => text)).toEqual(['Fits.', 'On', 'Fits.']);
  },
);

it.each([2, 40])('aims for the window that an overflow names, with %s messages to keep', async (kept) => {
  const fits = (messages: readonly BaseMessage[]) =>
    messages.reduce((sum, { text }) => sum + text.length, 0) / 4 <= 4_000;
  const tooLong = Object.assign(new Error('prompt is too long: 25000 tokens > 4000 maximum'), {
    status: 400,
  });
  const answer = (messages: BaseMessage[]) => (fits(messages) ? new AIMessage('Fits.') : tooLong);
  const model = fakeModel().respond(answer).respond(answer);
  const middleware = [
    compactionMiddleware({ trigger: { messages: 1_000 }, keep: { messages: kept }, contextWindow: 200_000 }),
  ];
  const long = Array.from({ length: 80 }, (_, turn) => [
    new HumanMessage(`Question ${turn}`),
    new AIMessage(`Answer ${turn}. ${'More of it. '.repeat(80)}`),
  ]).flat();
  const { messages } = await createAgent({ model, tools: [], middleware }).invoke({
    messages: [...long, new HumanMessage('Last')],
  });
  expect(messages.at(-1)?.text).toBe('Fits.');
  expect(model.calls).toHaveLength(2);
});

it('summarizes nothing twice where a graph around the agent brings its messages back', async () => {
  const outcomes: CompactionOutcome[] = [];
  const model = Array.from({ length: 40 }, (_, turn) => turn).reduce(
    (fake, turn) => fake.respond(new AIMessage(`Answer ${turn}. ${'More of it. '.repeat(50)}`)),
    fakeModel(),
  );
  const agent = createAgent({
    model,
    middleware: [
      compactionMiddleware({
        trigger: { tokens: 2_000 },
        keep: { messages: 4 },
        onCompaction: (outcome) => void outcomes.push(outcome),
      }),
    ],
  });
  const graph = new StateGraph(MessagesAnnotation)
    .addNode('agent', agent.graph)
    .addEdge(START, 'agent')
    .compile({ checkpointer: new MemorySaver() });
  for (let turn = 0; turn < 40; turn++) {
    const question = new HumanMessage(`Question ${turn}`);
    await graph.invoke({ messages: [question] }, { configurable: { thread_id: 't' } });
  }
  expect(outcomes.length).toBeGreaterThan(1);
  expect(outcomes.length).toBeLessThan(10);
  expect(model.calls.every(({ messages }) => messages.length < 40)).toBe(true);
});

it('passes on what is no overflow, and an overflow that it cannot help', async () => {
  const failing = async (error: Error, messages: BaseMessage[]) => {
    const model = fakeModel().alwaysThrow(error);
    const agent = createAgent({
      model,
      tools: [],
      middleware: [compactionMiddleware({ trigger: { messages: 99 } })],
    });
    const failure = await agent.invoke({ messages }).catch((thrown: unknown) => thrown);
    return { calls: model.calls.length, failure: String(failure) };
  };
  const limit = await failing(new Error('429 Rate limit reached for TPM'), asked(30));
  expect(limit).toMatchObject({ calls: 1, failure: expect.stringContaining('Rate limit') });
  const tooLong = new Error('This model’s maximum context length is 8192 tokens');
  const short = await failing(tooLong, [new HumanMessage('Hi')]);
  expect(short).toMatchObject({ calls: 1, failure: expect.stringContaining('maximum context') });
});

it('keeps the messages when the summarizer fails and nothing may stand for its words', async () => {
  const summarizer = fakeModel().alwaysThrow(new Error('down'));
  const model = fakeModel().respond(new AIMessage('Still here.'));
  const middleware = compactionMiddleware({
    model: summarizer,
    trigger: { messages: 30 },
    keep: { messages: 4 },
    compaction: { summary: { fallback: 'none' } },
  });
  expect(middleware.name).toBe('CompactionMiddleware');
  const agent = createAgent({ model, tools: [], middleware: [middleware] });
  const given = asked(20);
  const { messages } = await agent.invoke({ messages: given });
  expect(messages.slice(0, -1).map(({ id }) => id)).toEqual(given.map(({ id }) => id));
});

it('evaluates conditions as LangChain does: all sizes of one, any of several', async () => {
  const sent = async (trigger: object, tokenCounter?: (messages: BaseMessage[]) => number) => {
    const model = fakeModel().respond(new AIMessage('Done.'));
    const middleware = compactionMiddleware({
      trigger,
      keep: { messages: 4 },
      ...(tokenCounter ? { tokenCounter } : {}),
    });
    await createAgent({ model, tools: [], middleware: [middleware] }).invoke({ messages: asked(20) });
    return model.calls[0]?.messages.length ?? 0;
  };
  expect(await sent({ messages: 30, tokens: 1_000_000 })).toBe(41);
  expect(await sent({ messages: 30, tokens: 500 })).toBeLessThan(41);
  expect(await sent([{ messages: 30, tokens: 1_000_000 }, { tokens: 500 }])).toBeLessThan(41);
  expect(await sent({ tokens: 50_000 })).toBe(41);
  expect(await sent({ tokens: 50_000 }, () => 60_000)).toBeLessThan(41);
});

it('leaves messages that it does not reduce as they are, thoughts, files and artifacts included', async () => {
  const call = { name: 'read_file', args: { path: 'a.ts' }, id: 'call-1', type: 'tool_call' as const };
  const special = [
    new SystemMessage({ id: 'system', content: 'Rules' }),
    new HumanMessage({
      id: 'human',
      content: [
        { type: 'image_url', image_url: { url: 'data:image/png;base64,AAAA' } },
        { type: 'text', text: 'Look' },
      ],
    }),
    new AIMessage({
      id: 'ai',
      content: [
        { type: 'thinking', thinking: 'Hm', signature: 'abc' },
        { type: 'tool_use', id: 'call-1', name: 'read_file', input: { path: 'a.ts' } },
      ],
      tool_calls: [call],
    }),
    new ToolMessage({
      id: 'tool',
      tool_call_id: 'call-1',
      name: 'read_file',
      content: 'text',
      artifact: { raw: 1 },
    }),
  ];
  const model = fakeModel().respond(new AIMessage('Done.'));
  const middleware = compactionMiddleware({ trigger: { messages: 30 }, keep: { messages: 8 } });
  const agent = createAgent({ model, tools: [], middleware: [middleware] });
  const { messages } = await agent.invoke({ messages: [...turns(20), ...special] });
  expect(messages.slice(-5, -1)).toEqual(special);
});

it('changes of a message only what the compactor changed', async () => {
  const input = { path: 'a.ts', content: 'x'.repeat(9_000) };
  const writing = new AIMessage({
    id: 'ai',
    content: [
      { type: 'text', text: 'Writing' },
      { type: 'tool_use', id: 'call-1', name: 'write_file', input },
    ],
    tool_calls: [{ name: 'write_file', args: input, id: 'call-1', type: 'tool_call' }],
    additional_kwargs: {
      tool_calls: [
        {
          id: 'call-1',
          type: 'function',
          function: { name: 'write_file', arguments: JSON.stringify(input) },
        },
      ],
    },
    response_metadata: { model_name: 'acme' },
  });
  const written = new ToolMessage({
    id: 'tool',
    tool_call_id: 'call-1',
    name: 'write_file',
    content: 'ok',
    artifact: { raw: 1 },
  });
  const model = fakeModel().respond(new AIMessage('Done.'));
  const middleware = compactionMiddleware({
    trigger: { messages: 20 },
    compaction: {
      stages: [truncateArgs({ triggerMessages: 10, keepMessages: 4, maxArgLength: 100 })],
    },
  });
  const agent = createAgent({ model, tools: [], middleware: [middleware] });
  const { messages } = await agent.invoke({
    messages: [new HumanMessage({ id: 'first', content: 'Write it' }), writing, written, ...turns(10)],
  });
  const changed = messages.find(({ id }) => id === 'ai') as AIMessage;
  const args = changed.tool_calls?.[0]?.args as typeof input;
  expect(args.path).toBe('a.ts');
  expect(args.content.length).toBeLessThan(300);
  expect(changed).toMatchObject({
    content: [
      { type: 'text', text: 'Writing' },
      { type: 'tool_use', id: 'call-1', name: 'write_file', input: args },
    ],
    additional_kwargs: { tool_calls: [{ function: { arguments: JSON.stringify(args) } }] },
    response_metadata: { model_name: 'acme' },
  });
  expect(messages.find(({ id }) => id === 'tool')).toMatchObject({ artifact: { raw: 1 }, content: 'ok' });
});

it('refuses options that are wrong or have no effect', () => {
  expect(() => compactionMiddleware({ keep: { messages: 1, tokens: 2 } })).toThrow('exactly one');
  const compactor = { compact: () => Promise.reject(new Error()), plan: () => Promise.reject(new Error()) };
  expect(() => compactionMiddleware({ compactor, keep: { messages: 3 } })).toThrow('together with compactor');
});

/** An agent that reads files for as many steps, a call and a result each, and what its middleware did. */
async function readingFor(steps: number, options: Parameters<typeof compactionMiddleware>[0]) {
  const outcomes: CompactionOutcome[] = [];
  const model = fakeModel();
  for (let index = 0; index < steps; index++) {
    const call = { name: 'read_file', args: { path: `src/file-${index}.ts` }, id: `call-${index}` };
    model.respond(new AIMessage({ content: 'The next.', tool_calls: [{ ...call, type: 'tool_call' }] }));
  }
  model.respond(new AIMessage('All read.'));
  const onCompaction = (outcome: CompactionOutcome) => void outcomes.push(outcome);
  const agent = createAgent({
    model,
    tools: [read],
    middleware: [compactionMiddleware({ ...options, onCompaction })],
  });
  const asked = [new HumanMessage('Read all files')];
  const { messages } = await agent.invoke({ messages: asked }, { recursionLimit: 400 });
  return { messages, applied: outcomes.filter(({ status }) => status === 'applied') };
}

it('reduces to well below the tokens that make a reduction due, so that one lasts', async () => {
  const { applied } = await readingFor(60, { trigger: { tokens: 3_000 }, keep: { messages: 6 } });
  expect(applied.length).toBeGreaterThan(2);
  for (const { tokensAfter } of applied) expect(tokensAfter).toBeLessThan(2_400);
  // About 350 tokens a step: a reduction must last for some.
  expect(applied.length).toBeLessThan(60 / 3);
});

it('says of no user’s words that they stand before a summary, where they do not', async () => {
  const agent = createAgent({
    model: fakeModel().respond(new AIMessage('Fine.')),
    tools: [],
    middleware: [compactionMiddleware({ trigger: { messages: 30 }, keep: { messages: 4 } })],
  });
  const { messages } = await agent.invoke({ messages: asked(20) });
  const at = messages.findIndex(({ additional_kwargs: { lc_source } }) => lc_source === 'summarization');
  expect(at).toBe(0);
  expect(messages[0]?.text).not.toContain("stands before it in the user's own words");
});

it('takes the trigger of the compactor as one, and refuses settings of it when it is made', async () => {
  const compaction = { trigger: { share: 0.1 } };
  const { applied } = await readingFor(12, { contextWindow: 16_000, keep: { messages: 4 }, compaction });
  expect(applied.length).toBeGreaterThan(0);
  expect(() => compactionMiddleware({ compaction: { foo: 1 } as never })).toThrow(
    /compaction\.foo: unknown key/,
  );
  expect(() => compactionMiddleware({ compaction: { trigger: { fraction: 0.8 } } as never })).toThrow(
    /compaction\.trigger\.fraction: unknown key/,
  );
});
