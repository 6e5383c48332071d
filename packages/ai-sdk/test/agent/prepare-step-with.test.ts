import { setImmediate } from 'node:timers/promises';
import { isDeepStrictEqual } from 'node:util';
import { setFlagsFromString } from 'node:v8';
import { runInNewContext } from 'node:vm';
import { createCompactor, maskOutputs } from '@x/compaction';
import {
  type CompactionOutcome,
  type Compactor,
  InMemorySession,
  type Model,
  type Usage,
  userMessage,
} from '@x/core';
import { sortedJson } from '@x/core/internal';
import { generateText, type ModelMessage, stepCountIs, streamText, ToolLoopAgent, tool } from 'ai';
import { MockLanguageModelV3 } from 'ai/test';
import { expect, it } from 'vitest';
import { z } from 'zod';
import { Reductions } from '../../src/agent/reductions.js';
import { type SdkMessage, toMessage } from '../../src/agent/sdk-message.js';
import { prepareStepWith, withOverflowRecovery } from '../../src/index.js';
import { answer, streamOf } from '../support/mock-model.js';

const STEPS = 24;
const read = tool({
  description: 'Reads a file',
  inputSchema: z.object({ path: z.string() }),
  execute: async ({ path }) => ({ path, text: `contents of ${path}\n`.repeat(60) }),
});

/** A model that reads one file after the other, then is done. */
const reader = () =>
  new MockLanguageModelV3({
    doGenerate: async ({ prompt }) => {
      const done = prompt.filter(({ role }) => role === 'tool').length;
      const step = Math.max(done, calls++);
      return step < STEPS
        ? answer({ tool: 'read', id: `call-${step}`, input: { path: `src/file-${step}.ts` } })
        : answer('All read.');
    },
  });
let calls = 0;

function observed() {
  const outcomes: CompactionOutcome[] = [];
  const compactor = createCompactor({ contextWindow: 8_000, keep: { messages: 6 } });
  return { compactor, outcomes, onCompaction: (outcome: CompactionOutcome) => void outcomes.push(outcome) };
}

it('reduces by text alone where the model has a compaction that only its provider reads', async () => {
  const asked: unknown[] = [];
  const summarizer: Model = {
    id: 'acme:large',
    contextWindow: 8_000,
    generate: async () => ({ content: [{ type: 'text', text: 'No.' }], finishReason: 'stop' }),
    compact: async (request) => {
      asked.push(request);
      return { content: [{ type: 'opaque', provider: 'acme', data: 'sealed', tokens: 20 }] };
    },
  };
  const outcomes: CompactionOutcome[] = [];
  const onCompaction = (outcome: CompactionOutcome) => void outcomes.push(outcome);
  const prepareStep = prepareStepWith(createCompactor({ model: summarizer }), { onCompaction });
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < 40; turn++) {
    messages.push({ role: 'user', content: `Question ${turn}` });
    messages.push({ role: 'assistant', content: `Answer ${turn}: ${'a word '.repeat(200)}` });
    await prepareStep({ messages });
  }
  expect(outcomes.length).toBeGreaterThan(1);
  expect(outcomes.length).toBeLessThan(10);
  expect(outcomes.every(({ status }) => status === 'applied')).toBe(true);
  expect(asked).toEqual([]);
});

it('keeps an agent of the SDK within its window, with a beginning that stays byte for byte', async () => {
  calls = 0;
  const { compactor, outcomes, onCompaction } = observed();
  const model = reader();
  const agent = new ToolLoopAgent({
    model,
    tools: { read },
    stopWhen: stepCountIs(40),
    prepareStep: prepareStepWith(compactor, { onCompaction }),
  });
  const result = await agent.generate({ prompt: 'Read all files' });
  expect(result.text).toBe('All read.');
  expect(model.doGenerateCalls).toHaveLength(STEPS + 1);

  const reductions = outcomes.filter(({ status }) => status === 'applied').length;
  expect(reductions).toBeGreaterThan(1);
  expect(reductions).toBeLessThan(STEPS / 2);
  const prompts = model.doGenerateCalls.map(({ prompt }) => prompt.map((message) => JSON.stringify(message)));
  const rewritten = prompts.slice(1).filter((prompt, index) => {
    const before = prompts[index] ?? [];
    return !isDeepStrictEqual(prompt.slice(0, before.length), before);
  });
  expect(rewritten).toHaveLength(reductions);
  for (const { prompt } of model.doGenerateCalls) {
    expect(JSON.stringify(prompt).length / 4).toBeLessThan(8_000);
    const ids = (type: string) =>
      prompt.flatMap(({ content }) =>
        typeof content === 'string'
          ? []
          : content.flatMap((part) => (part.type === type && 'toolCallId' in part ? [part.toolCallId] : [])),
      );
    expect(ids('tool-call')).toEqual(ids('tool-result'));
    expect(JSON.stringify(prompt)).toContain('Read all files');
  }
});

it('sends no half of a character, which providers refuse in every later request too', async () => {
  const model = new MockLanguageModelV3({ doGenerate: async () => answer('ok') });
  const { compactor } = observed();
  const prompt = [{ role: 'user', content: 'cut \ud83d' }] satisfies ModelMessage[];
  await generateText({ model, messages: prompt, prepareStep: prepareStepWith(compactor) });
  await generateText({ model: withOverflowRecovery(model, compactor), messages: prompt });
  for (const call of model.doGenerateCalls) expect(JSON.stringify(call.prompt)).toContain('cut \ufffd');
  expect(model.doGenerateCalls).toHaveLength(2);
});

it('leaves every object as it is while nothing is due', async () => {
  const { compactor } = observed();
  const messages: ModelMessage[] = [
    {
      role: 'system',
      content: 'Rules',
      providerOptions: { anthropic: { cacheControl: { type: 'ephemeral' } } },
    },
    {
      role: 'user',
      content: [
        { type: 'image', image: new Uint8Array([1, 2, 3]) },
        { type: 'text', text: 'Look' },
      ],
    },
    {
      role: 'assistant',
      content: [
        { type: 'reasoning', text: 'Hm', providerOptions: { anthropic: { signature: 'abc' } } },
        { type: 'tool-call', toolCallId: '1', toolName: 'read', input: { path: 'a' } },
        { type: 'tool-approval-request', approvalId: 'ok', toolCallId: '1' },
      ],
    },
    { role: 'tool', content: [{ type: 'tool-approval-response', approvalId: 'ok', approved: true }] },
    {
      role: 'tool',
      content: [
        { type: 'tool-result', toolCallId: '1', toolName: 'read', output: { type: 'json', value: [1] } },
      ],
    },
  ];
  const prepared = await prepareStepWith(compactor)({ messages });
  expect(prepared.messages).toHaveLength(messages.length);
  for (const [index, message] of prepared.messages.entries()) expect(message).toBe(messages[index]);
});

it('finds a conversation again that comes as new objects, in generateText and in streamText', async () => {
  const { compactor, outcomes, onCompaction } = observed();
  const prepareStep = prepareStepWith(compactor, { onCompaction });
  const history: ModelMessage[] = Array.from({ length: 60 }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${turn}. ${'More of it. '.repeat(40)}` }] },
  ]).flat();
  const model = new MockLanguageModelV3({ doGenerate: answer('Yes'), doStream: streamOf('Yes') });
  const first: ModelMessage[] = [...history, { role: 'user', content: 'One more' }];
  await generateText({ model, messages: first, prepareStep });
  const second: ModelMessage[] = structuredClone([
    ...first,
    { role: 'assistant', content: 'Yes' },
    { role: 'user', content: 'And one more' },
  ]);
  await streamText({ model, messages: second, prepareStep }).consumeStream();

  expect(outcomes.map(({ status }) => status)).toEqual(['applied']);
  const [sent] = model.doGenerateCalls;
  const [streamed] = model.doStreamCalls;
  expect(JSON.stringify(sent?.prompt).length).toBeLessThan(JSON.stringify(first).length / 2);
  expect(JSON.stringify(streamed?.prompt.slice(0, sent?.prompt.length))).toBe(JSON.stringify(sent?.prompt));
  expect(streamed?.prompt.length).toBe((sent?.prompt.length ?? 0) + 2);
});

it('finds a reduction again where each request makes its own prepareStep', async () => {
  const { compactor, outcomes, onCompaction } = observed();
  const messages: ModelMessage[] = [];
  for (let turn = 0; turn < 60; turn++) {
    messages.push({ role: 'user', content: `Question ${turn}` });
    await prepareStepWith(compactor, { onCompaction })({ messages: structuredClone(messages) });
    messages.push({ role: 'assistant', content: `Answer ${turn}: ${'a word '.repeat(200)}` });
  }
  expect(outcomes.length).toBeGreaterThan(1);
  expect(outcomes.length).toBeLessThan(10);
});

it('keeps no files of conversations, because each request brings them again', async () => {
  const { compactor } = observed();
  const statuses: string[] = [];
  const prepareStep = prepareStepWith(compactor, {
    onCompaction: ({ status }) => void statuses.push(status),
  });
  const ask = async (who: string) => {
    const image = new Uint8Array(1_000_000);
    const said = Array.from({ length: 40 }, (_, turn): ModelMessage[] => [
      { role: 'user', content: `Question ${turn} of ${who}` },
      { role: 'assistant', content: `Answer ${turn}. ${'More of it. '.repeat(60)}` },
    ]).flat();
    const asked: ModelMessage = { role: 'user', content: [{ type: 'image', image }] };
    const { messages } = await prepareStep({ messages: [...said, asked] });
    expect(messages.at(-1)).toBe(asked);
    return new WeakRef(image);
  };
  const image = await ask('Ann');
  await ask('Bob');
  expect(statuses).toEqual(['applied', 'applied']);
  setFlagsFromString('--expose-gc');
  const collectGarbage: () => void = runInNewContext('gc');
  await setImmediate();
  collectGarbage();
  expect(image.deref() === undefined).toBe(true);
});

it('forgets the reductions that were used least once they take too much memory', async () => {
  const { compactor } = observed();
  let compactions = 0;
  // Each takes more than half of what may be kept.
  const large = userMessage('字'.repeat(30_000_000));
  const compact: Compactor['compact'] = async (messages, options) => {
    const outcome = await compactor.compact([], options);
    if (messages.length < 4) return { ...outcome, messages };
    compactions++;
    return { ...outcome, status: 'applied', messages: [large, ...messages.slice(-1)] } as CompactionOutcome;
  };
  const keepsMuch = { ...compactor, compact };
  const ask = async (who: string) => {
    const messages = Array.from({ length: 6 }, (): ModelMessage => ({ role: 'user', content: who }));
    await prepareStepWith(keepsMuch)({ messages });
    return compactions;
  };
  expect([await ask('Ann'), await ask('Ann'), await ask('Bob'), await ask('Ann')]).toEqual([1, 1, 2, 3]);
});

it('finds a reduction again in a conversation whose keys a database has sorted', async () => {
  const { compactor, outcomes, onCompaction } = observed();
  const prepareStep = prepareStepWith(compactor, { onCompaction });
  const messages: ModelMessage[] = [{ role: 'user', content: 'Read all files' }];
  for (let step = 0; outcomes.length < 2; step++) {
    const value = `contents of file ${step}\n`.repeat(160);
    const call = { toolCallId: `${step}`, toolName: 'read_file' };
    messages.push({
      role: 'assistant',
      content: [{ type: 'tool-call', ...call, input: { path: 'a', line: 1 } }],
    });
    const output = { type: 'text', value } as const;
    messages.push({ role: 'tool', content: [{ type: 'tool-result', ...call, output }] });
    await prepareStep({ messages: structuredClone(messages) });
  }
  await prepareStep({ messages: JSON.parse(sortedJson(messages)) as ModelMessage[] });
  expect(outcomes).toHaveLength(2);
});

it('goes on from its own answer, as version 7 of the SDK hands it over', async () => {
  const { compactor, outcomes, onCompaction } = observed();
  const prepareStep = prepareStepWith(compactor, { onCompaction });
  let messages: ModelMessage[] = [{ role: 'user', content: 'Read all files' }];
  for (let step = 0; step < STEPS; step++) {
    const value = `contents of file ${step}\n`.repeat(160);
    const call = { toolCallId: `${step}`, toolName: 'read_file' };
    const carried = await prepareStep({ messages, instructions: [{ role: 'system', content: 'You read.' }] });
    messages = structuredClone([
      ...carried.messages,
      {
        role: 'assistant',
        content: [{ type: 'tool-call', ...call, input: { path: `src/file-${step}.ts` } }],
      },
      { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value } }] },
    ]);
  }
  expect(outcomes.filter(({ status }) => status === 'applied').length).toBeGreaterThan(1);
  const summaries = messages.filter((message) => JSON.stringify(message).includes('[CONVERSATION_SUMMARY]'));
  expect(summaries).toHaveLength(1);
  expect(JSON.stringify(summaries)).toContain('src/file-0.ts');
  // What a summary of a summary would read like.
  expect(JSON.stringify(summaries)).not.toContain('(CONVERSATION_SUMMARY)');
});

it.each(['the same process', 'a new process'])(
  'finds in %s what version 7 reduced within a call',
  async (process) => {
    const { outcomes, onCompaction } = observed();
    const remember = { store: new InMemorySession(), userId: 'alice' };
    const open = () => prepareStepWith(observed().compactor, { onCompaction, remember });
    let prepareStep = open();
    const said: ModelMessage[] = [{ role: 'user', content: 'Read all files' }];
    let sent: readonly ModelMessage[] = said;
    const applied = () => outcomes.filter(({ status }) => status === 'applied').length;
    for (let step = 0; applied() < 4; step++) {
      if (process === 'a new process' && step % 5 === 0) {
        // A new call, which passes the whole conversation.
        prepareStep = open();
        sent = structuredClone(said);
      }
      const { messages } = await prepareStep({ messages: sent });
      const call = { toolCallId: `${step}`, toolName: 'read_file' };
      const value = `contents \ud83d of file ${step}\n`.repeat(160);
      const came: ModelMessage[] = [
        { role: 'assistant', content: [{ type: 'tool-call', ...call, input: { step } }] },
        { role: 'tool', content: [{ type: 'tool-result', ...call, output: { type: 'text', value } }] },
      ];
      said.push(...came);
      sent = structuredClone([...messages, ...came]);
    }
    // Read as a request, the summary would stand in the next one.
    expect(JSON.stringify(sent).match(/\[CONVERSATION_SUMMARY\]/g)).toHaveLength(1);
    if (process === 'a new process') prepareStep = open();
    const next = await prepareStep({
      messages: [...structuredClone(said), { role: 'user', content: 'Go on' }],
    });
    expect(applied()).toBe(4);
    expect(next.messages.slice(0, -3)).toEqual(sent.slice(0, -2));
  },
);

it('finds a reduction again although the mark for the prompt cache moved', async () => {
  const { compactor, outcomes, onCompaction } = observed();
  const prepareStep = prepareStepWith(compactor, { onCompaction });
  const said: ModelMessage[] = [];
  const anthropic = { cacheControl: { type: 'ephemeral' } };
  for (let turn = 0; turn < 60; turn++) {
    said.push({
      role: 'user',
      content: [{ type: 'text', text: `Question ${turn} ${'a word '.repeat(100)}` }],
    });
    const [newest, ...before] = structuredClone(said).reverse();
    const marked = { ...(newest as ModelMessage), providerOptions: { anthropic } };
    const { messages } = await prepareStep({ messages: [...before.reverse(), marked] });
    // Providers allow four marks.
    expect(messages.filter(({ providerOptions }) => providerOptions)).toEqual([marked]);
    said.push({ role: 'assistant', content: `Answer ${turn}` });
  }
  const applied = outcomes.filter(({ status }) => status === 'applied').length;
  expect(applied).toBeGreaterThan(1);
  expect(applied).toBeLessThan(6);
});

it.each(['an answer', 'a part of an answer'])(
  'finds a reduction again although the mark for the prompt cache moved to %s of a tool',
  async (where) => {
    const { compactor, outcomes, onCompaction } = observed();
    const prepareStep = prepareStepWith(compactor, { onCompaction });
    const providerOptions = { anthropic: { cacheControl: { type: 'ephemeral' } } };
    const said: ModelMessage[] = [{ role: 'user', content: 'Read all files' }];
    for (let step = 0; step < 40; step++) {
      const call = { toolCallId: `${step}`, toolName: 'read_file' };
      const text = { type: 'text' as const, text: `contents of file ${step}\n`.repeat(60) };
      const resultOf = (part: typeof text, rest = {}): ModelMessage => {
        const output = { type: 'content' as const, value: [part], ...rest };
        return { role: 'tool', content: [{ type: 'tool-result', ...call, output }] };
      };
      said.push({ role: 'assistant', content: [{ type: 'tool-call', ...call, input: { step } }] });
      const marked = { ...text, providerOptions };
      const newest = where === 'an answer' ? resultOf(text, { providerOptions }) : resultOf(marked);
      await prepareStep({ messages: [...structuredClone(said), newest] });
      said.push(resultOf(text));
    }
    const applied = outcomes.filter(({ status }) => status === 'applied').length;
    expect(applied).toBeGreaterThan(1);
    expect(applied).toBeLessThan(12);
  },
);

it('changes of a message only what the compactor changed', async () => {
  const compactor = createCompactor({
    contextWindow: 100_000,
    trigger: { messages: 4 },
    stages: [maskOutputs({ keepRecentToolOutputs: 1 }), 'drop_oldest'],
  });
  const result = (id: string, value: string) => ({
    role: 'tool' as const,
    content: [
      {
        type: 'tool-result' as const,
        toolCallId: id,
        toolName: 'read',
        output: { type: 'text' as const, value },
        providerOptions: { openai: { itemId: `item-${id}` } },
      },
    ],
  });
  const callOf = (id: string) => ({
    role: 'assistant' as const,
    content: [{ type: 'tool-call' as const, toolCallId: id, toolName: 'read', input: { path: id } }],
  });
  const messages: ModelMessage[] = [
    { role: 'user', content: 'Read both' },
    callOf('1'),
    result('1', 'a line\n'.repeat(500)),
    callOf('2'),
    result('2', 'b'),
    { role: 'assistant', content: 'Read.' },
    { role: 'user', content: 'Go on' },
  ];
  const prepared = await prepareStepWith(compactor)({ messages });
  const changed = prepared.messages.filter((message, index) => message !== messages[index]);
  expect(changed).toEqual([
    {
      role: 'tool',
      content: [
        {
          type: 'tool-result',
          toolCallId: '1',
          toolName: 'read',
          output: { type: 'text', value: expect.stringContaining('lines') },
          providerOptions: { openai: { itemId: 'item-1' } },
        },
      ],
    },
  ]);
});

it('stays with the conversation when a compactor writes what the SDK has no words for', async () => {
  const outcomes: CompactionOutcome[] = [];
  const real = createCompactor();
  const prepareStep = prepareStepWith(
    {
      ...real,
      compact: async (messages, options) => ({
        ...(await real.compact(messages, options)),
        status: 'applied',
        messages: [
          {
            id: 'x',
            role: 'assistant',
            createdAt: '',
            content: [{ type: 'opaque', provider: 'openai.responses', data: {} }],
          },
        ],
      }),
    },
    { onCompaction: (outcome) => void outcomes.push(outcome) },
  );
  const messages: ModelMessage[] = [{ role: 'user', content: 'Hi' }];
  expect((await prepareStep({ messages })).messages).toEqual(messages);
  expect(outcomes).toMatchObject([{ status: 'failed', message: expect.stringContaining('opaque') }]);
});

it('refuses options that it does not know', () => {
  const { compactor } = observed();
  expect(() => prepareStepWith(compactor, { window: 3 } as never)).toThrow('window');
  expect(() => prepareStepWith({ contextWindow: 3 } as never)).toThrow(
    'Invalid compactor: must be a compactor',
  );
});

const SUMMARY = [
  '## SESSION INTENT\nAsk sixty questions, one by one, and hear what each is answered.',
  '## SUMMARY\nAll questions were asked in their order and were answered with more of it.',
  '## ARTIFACTS\nNo file was touched.',
  '## NEXT STEPS\nAnswer what is asked next.',
].join('\n');

it('finds in another process what one has reduced, and summarizes it once', async () => {
  const store = new InMemorySession();
  let summaries = 0;
  const model: Model = {
    id: 'summarizer',
    generate: async () => {
      summaries += 1;
      const text = SUMMARY;
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
  const history: ModelMessage[] = Array.from({ length: 60 }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${turn}. ${'More of it. '.repeat(120)}` }] },
  ]).flat();
  const image = { type: 'image' as const, image: new Uint8Array([1, 2, 3]) };
  const asked: ModelMessage[] = [
    ...history,
    { role: 'user', content: [image, { type: 'text', text: 'And this?' }] },
  ];
  const instance = (userId: string) => {
    const compactor = createCompactor({ contextWindow: 20_000, keep: { messages: 6 }, model });
    return prepareStepWith(compactor, { remember: { store, userId } });
  };
  const first = await instance('alice')({ messages: asked });
  expect(JSON.stringify(first.messages).length).toBeLessThan(JSON.stringify(asked).length / 2);
  const used = summaries;
  expect(used).toBeGreaterThan(0);
  const later: ModelMessage[] = [...structuredClone(asked), { role: 'user', content: 'On' }];
  const second = await instance('alice')({ messages: later });
  expect(summaries).toBe(used);
  expect(second.messages).toEqual([...first.messages, later.at(-1)]);
  // Unaltered ones are the caller's own objects; what another user has kept is not found.
  expect(second.messages.at(-2)).toBe(later.at(-2));
  await instance('bob')({ messages: later });
  expect(summaries).toBeGreaterThan(used);
});

it('finds what another process reduced further, and sends the same', async () => {
  const store = new InMemorySession();
  let summaries = 0;
  const model: Model = {
    id: 'summarizer',
    async generate() {
      summaries += 1;
      return { content: [{ type: 'text', text: SUMMARY }], finishReason: 'stop' };
    },
  };
  const [one, two] = ['one', 'two'].map(() => {
    const compactor = createCompactor({ contextWindow: 6_000, model });
    return prepareStepWith(compactor, { remember: { store, userId: 'alice' } });
  }) as [ReturnType<typeof prepareStepWith>, ReturnType<typeof prepareStepWith>];
  const messages: ModelMessage[] = [];
  const say = () => {
    const turn = messages.length / 2;
    const answer = `Answer ${turn}. ${'More of it. '.repeat(60)}`;
    messages.push({ role: 'user', content: `Question ${turn}` }, { role: 'assistant', content: answer });
  };
  const askUntilSummarized = async (prepareStep: typeof one) => {
    const before = summaries;
    let sent: ModelMessage[] = [];
    while (summaries === before) {
      say();
      sent = (await prepareStep({ messages: structuredClone(messages) })).messages;
    }
    return sent;
  };
  await askUntilSummarized(one);
  const sent = await askUntilSummarized(two);
  const used = summaries;
  expect((await one({ messages: structuredClone(messages) })).messages).toEqual(sent);
  expect(summaries).toBe(used);
});

it.each<readonly [string, (owner: string) => unknown]>([
  ['an ArrayBuffer', (owner) => new TextEncoder().encode(owner).buffer],
  ['a view of a buffer', (owner) => new DataView(new TextEncoder().encode(owner).buffer)],
])('never finds the reduction of a conversation that differs by %s alone', async (_, data) => {
  const prepareStep = prepareStepWith(createCompactor({ contextWindow: 8_000, trigger: { tokens: 2_000 } }));
  const conversation = (owner: string): ModelMessage[] => [
    {
      role: 'user',
      content: [{ type: 'file', mediaType: 'application/pdf', data: data(owner) as ArrayBuffer }],
    },
    ...Array.from({ length: 40 }, (_, turn): ModelMessage[] => [
      { role: 'assistant', content: `Answer ${turn}. ${'More of it. '.repeat(40)}` },
      { role: 'user', content: `Question ${turn}` },
    ]).flat(),
  ];
  const [alice, bob] = [conversation('alice'), conversation('bob')];
  await prepareStep({ messages: alice });
  const { messages } = await prepareStep({ messages: bob });
  expect(messages.length).toBeLessThan(bob.length);
  expect(messages).not.toContain(alice[0]);
});

it('learns from the usage of steps how the provider counts', async () => {
  const messages: ModelMessage[] = Array.from({ length: 40 }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${turn}. ${'More of it. '.repeat(40)}` }] },
  ]).flat();
  const [outcomes, compactor] = [[] as CompactionOutcome[], createCompactor({ keep: { messages: 6 } })];
  const prepareStep = prepareStepWith(compactor, {
    contextWindow: 10_000,
    onCompaction: (outcome) => void outcomes.push(outcome),
  });
  await prepareStep({ messages });
  const tokens = (await compactor.plan(messages.map((message, at) => toMessage(message, `${at}`))))
    .tokensBefore;
  const step = (inputTokens: number) => [{ usage: { inputTokens } }];
  await prepareStep({ messages, steps: step(tokens) });
  expect(outcomes).toEqual([]);
  await prepareStep({ messages, steps: step(tokens * 2) });
  expect(outcomes).toMatchObject([{ status: 'applied' }]);
  // In one scale: what the provider counts, and the window that it has.
  expect(outcomes[0]?.tokensBefore).toBeGreaterThan(tokens * 1.8);
  expect(outcomes[0]?.tokensAfter).toBeLessThanOrEqual(8_500);
});

it.each([
  ['all', () => ({ inputTokens: 300 })],
  ['the beginning', (tokens: number) => ({ inputTokens: tokens * 0.6, cachedInputTokens: tokens * 0.4 })],
  [
    'in version 6 the beginning',
    (tokens: number) => ({
      inputTokens: tokens * 0.6,
      cachedInputTokens: tokens * 0.4,
      inputTokenDetails: { noCacheTokens: undefined },
    }),
  ],
])('keeps to the window where a provider of version 5 leaves %s of a request out', async (_, usageOf) => {
  const prepareStep = prepareStepWith(createCompactor(), { contextWindow: 10_000 });
  const said: ModelMessage[] = [{ role: 'user', content: 'Read all files' }];
  const steps: { readonly usage: ReturnType<typeof usageOf> }[] = [];
  for (let step = 0; step < 40; step++) {
    const { messages } = await prepareStep({ messages: structuredClone(said), steps });
    const tokens = JSON.stringify(messages).length / 4;
    expect(tokens).toBeLessThan(10_000);
    steps.push({ usage: usageOf(tokens) });
    const call = { toolCallId: `${step}`, toolName: 'read_file' };
    const output = { type: 'text' as const, value: `contents of file ${step}\n`.repeat(60) };
    said.push({ role: 'assistant', content: [{ type: 'tool-call', ...call, input: { step } }] });
    said.push({ role: 'tool', content: [{ type: 'tool-result', ...call, output }] });
  }
});

it('knows at the first step of a later call of a chat how the provider counts, unless the requests were small', async () => {
  const chat = (turns: number) =>
    Array.from({ length: turns }, (_, turn): ModelMessage[] => [
      { role: 'user', content: `Question ${turn}` },
      { role: 'assistant', content: `Answer ${turn}. ${'More of it. '.repeat(40)}` },
    ]).flat();
  const compactedAfter = async (turns: number, inputTokens: number, isOther = false) => {
    const outcomes: CompactionOutcome[] = [];
    const compactor = createCompactor({ keep: { messages: 6 } });
    const onCompaction = (outcome: CompactionOutcome) => void outcomes.push(outcome);
    // Applications may make it anew at each request.
    const inRequest = () => prepareStepWith(compactor, { contextWindow: 10_000, onCompaction });
    await inRequest()({ messages: chat(turns), steps: [{ usage: { inputTokens } }] });
    expect(outcomes).toEqual([]);
    // About 5 300 tokens by our count.
    const another = chat(40).slice(isOther ? 2 : 0);
    await inRequest()({ messages: [...another, { role: 'user', content: 'Go on' }] });
    return outcomes.map(({ status }) => status);
  };
  expect(await compactedAfter(20, 5_300)).toEqual(['applied']);
  expect(await compactedAfter(20, 2_650)).toEqual([]);
  expect(await compactedAfter(1, 2_000)).toEqual([]);
  expect(await compactedAfter(20, 5_300, true)).toEqual([]);
});

const words = (tokens: number) => 'More of it. '.repeat(tokens / 3);
const brought = (id: string, tokens: number): ModelMessage[] => [
  { role: 'assistant', content: [{ type: 'tool-call', toolCallId: id, toolName: 'read', input: {} }] },
  {
    role: 'tool',
    content: [
      {
        type: 'tool-result',
        toolCallId: id,
        toolName: 'read',
        output: { type: 'text', value: words(tokens) },
      },
    ],
  },
];

it('learns from what a step was sent alone, not from what it brought', async () => {
  const history = Array.from({ length: 10 }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: words(200) },
  ]).flat();
  const [first, second] = [brought('one', 1_500), brought('two', 1_500)];
  // Of 8 000 tokens some 3 600 were counted here, so that half of 20 000 is less than the 5 100 that there are now.
  const usage = { inputTokens: 8_000 };
  const outcomes: CompactionOutcome[] = [];
  const prepareStep = prepareStepWith(createCompactor({ trigger: { share: 0.5 }, keep: { messages: 2 } }), {
    contextWindow: 20_000,
    onCompaction: (outcome) => void outcomes.push(outcome),
  });
  await prepareStep({
    messages: [...history, { role: 'user', content: 'Go on' }, ...first, ...second],
    // As version 7 of the SDK tells of steps: each with its own messages.
    steps: [first, second].map((messages) => ({ usage, response: { messages } })),
  });
  expect(outcomes[0]?.status).toBe('applied');
});

it.each([50_000, 110_000])(
  'cuts no result of %i tokens in a large window because of tools that it is not told of',
  async (tokens) => {
    const outcomes: CompactionOutcome[] = [];
    const prepareStep = prepareStepWith(createCompactor(), {
      contextWindow: 200_000,
      onCompaction: (outcome) => void outcomes.push(outcome),
    });
    await prepareStep({
      messages: [{ role: 'user', content: 'Read it' }, ...brought('one', tokens)],
      // Nearly all of what the provider counted are the agent's tools.
      steps: [{ usage: { inputTokens: 16_000 } }],
    });
    expect(outcomes).toEqual([]);
  },
);

it.each([
  ['cannot be read or written', () => Promise.reject(new Error('the store is down'))],
  ['never answers', () => new Promise<never>(() => {})],
])('goes on when the store that remembers %s', async (_, ask) => {
  const store = new InMemorySession();
  Object.assign(store, { load: ask, commit: ask });
  const messages: ModelMessage[] = Array.from({ length: 40 }, (_, turn): ModelMessage[] => [
    { role: 'user', content: `Question ${turn}` },
    { role: 'assistant', content: [{ type: 'text', text: `Answer ${turn}. ${'More of it. '.repeat(120)}` }] },
  ]).flat();
  const outcomes: CompactionOutcome[] = [];
  const prepareStep = prepareStepWith(createCompactor({ contextWindow: 10_000, keep: { messages: 6 } }), {
    remember: { store, userId: 'alice', timeoutMs: 100 },
    onCompaction: (outcome) => void outcomes.push(outcome),
  });
  const reduced = await prepareStep({ messages });
  expect(outcomes[0]?.status).toBe('applied');
  expect(reduced.messages.length).toBeLessThan(messages.length);
  expect((await prepareStep({ messages })).messages).toEqual(reduced.messages);
});

it('says how messages of useChat become those of a model', async () => {
  const messages = [{ id: '1', role: 'user', parts: [{ type: 'text', text: 'hi' }] }] as never;
  const prepareStep = prepareStepWith(createCompactor({ contextWindow: 16_000 }));
  await expect(prepareStep({ messages })).rejects.toThrow('convertToModelMessages');
});

it.each(['prepareStepWith', 'withOverflowRecovery'])(
  'reports the usage of a late narrative: %s',
  async (by) => {
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const usage = { inputTokens: 900, outputTokens: 90 };
    const summarizer: Model = {
      id: 'acme:late',
      async generate() {
        await gate;
        return { content: [{ type: 'text', text: 'Too late.' }], finishReason: 'length', usage };
      },
    };
    const compactor = createCompactor({ model: summarizer, contextWindow: 4_000, summary: { waitMs: 0 } });
    const spent: Usage[] = [];
    const onUsage = (each: Usage) => void spent.push(each);
    const messages = longChat();
    if (by === 'prepareStepWith') await prepareStepWith(compactor, { onUsage })({ messages });
    else {
      let isFirst = true;
      const doGenerate = async () => {
        if (!isFirst) return answer('Fits.');
        isFirst = false;
        throw Object.assign(new Error('prompt is too long: 5000 tokens > 4000 maximum'), { statusCode: 400 });
      };
      const model = withOverflowRecovery(new MockLanguageModelV3({ doGenerate }), compactor, { onUsage });
      await generateText({ model, messages, maxRetries: 0 });
    }
    expect(spent).toEqual([]);
    release();
    await setImmediate();
    expect(spent[0]).toEqual(usage);
  },
);

it('summarizes a conversation once for requests at the same time', async () => {
  let asked = 0;
  const usage = { inputTokens: 900, outputTokens: 90 };
  const summarizer: Model = {
    id: 'acme:together',
    async generate() {
      asked++;
      await setImmediate();
      return { content: [{ type: 'text', text: SUMMARY }], finishReason: 'stop', usage };
    },
  };
  const outcomes: CompactionOutcome[] = [];
  const onCompaction = (outcome: CompactionOutcome) => void outcomes.push(outcome);
  const remember = { store: new InMemorySession() };
  const prepareStep = prepareStepWith(createCompactor({ model: summarizer, contextWindow: 16_000 }), {
    onCompaction,
    remember,
  });
  const copies = Array.from({ length: 5 }, () => structuredClone(longChat()));
  const prepared = await Promise.all(copies.map((messages) => prepareStep({ messages })));
  expect(new Set(prepared.map(sortedJson)).size).toBe(1);
  for (const [at, { messages }] of prepared.entries()) expect(messages.at(-1)).toBe(copies[at]?.at(-1));
  expect(outcomes.map(({ status }) => status)).toEqual(Array(5).fill('applied'));
  expect(outcomes.flatMap(({ modelCalls = [] }) => modelCalls)).toEqual([asked]);
});

it.each(['one of the calls that wait', 'each call that waits'])(
  'aborts a compaction only if everybody has left: aborted by %s',
  async (who) => {
    const [first, second] = [new AbortController(), new AbortController()];
    const signals: AbortSignal[] = [];
    const real = createCompactor({ contextWindow: 4_000 });
    let release = () => {};
    const gate = new Promise<void>((resolve) => {
      release = resolve;
    });
    const compactor: Compactor = {
      ...real,
      async compact(messages, options) {
        if (options?.signal) signals.push(options.signal);
        await gate;
        return real.compact(messages, options);
      },
    };
    const overflow = Object.assign(new Error('prompt is too long: 5000 tokens > 4000 maximum'), {
      statusCode: 400,
    });
    const doGenerate = async ({ prompt }: { prompt: readonly unknown[] }) => {
      if (prompt.length >= longChat().length) throw overflow;
      return answer('Fits.');
    };
    const model = withOverflowRecovery(
      new MockLanguageModelV3({ doGenerate: doGenerate as never }),
      compactor,
    );
    const ask = ({ signal }: AbortController) =>
      generateText({ model, messages: longChat(), maxRetries: 0, abortSignal: signal }).then(
        ({ text }) => text,
        (error: Error) => error.message,
      );
    const answers = [ask(first), ask(second)];
    while (signals.length === 0) await setImmediate();
    await setImmediate();
    first.abort(new Error('left'));
    expect(await answers[0]).toBe('left');
    if (who === 'each call that waits') second.abort(new Error('left too'));
    await setImmediate();
    release();
    expect(await answers[1]).toBe(who === 'each call that waits' ? 'left too' : 'Fits.');
    expect(signals.map(({ aborted }) => aborted)).toEqual([who === 'each call that waits']);
  },
);

it('aborts the compaction of a call that left while one with other options runs', async () => {
  const signals: AbortSignal[] = [];
  const real = createCompactor({ contextWindow: 4_000 });
  const compactor: Compactor = {
    ...real,
    async compact(messages, options) {
      if (options?.signal) signals.push(options.signal);
      if (signals.length < 2 || options?.signal === signals[0]) await new Promise(() => {});
      return real.compact(messages, options);
    },
  };
  const reductions = new Reductions(compactor);
  const first = new AbortController();
  const left = reductions
    .reduce(longChat() as SdkMessage[], { instructions: 'first', signal: first.signal })
    .catch((error: Error) => error.message);
  await setImmediate();
  const other = await reductions.reduce(longChat() as SdkMessage[], { instructions: 'second' });
  expect(other.outcome.status).toBe('applied');
  first.abort(new Error('left'));
  expect(await left).toBe('left');
  expect(signals.map(({ aborted }) => aborted)).toEqual([true, false]);
});

const longChat = (turns = 40): ModelMessage[] =>
  Array.from({ length: turns }, (_, turn) => [
    { role: 'user' as const, content: `Question ${turn}` },
    { role: 'assistant' as const, content: `Answer ${turn}: ${'a word '.repeat(200)}` },
  ]).flat();
