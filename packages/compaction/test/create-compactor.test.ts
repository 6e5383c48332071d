import { setImmediate } from 'node:timers/promises';
import {
  assistantMessage,
  type Message,
  type Model,
  textOf,
  toolResultMessage,
  type Usage,
  userMessage,
} from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { type CompactionSettings, createCompactor, type Stage, truncateArgs } from '../src/index.js';
import { lines, round, rounds } from './build.js';
import { GOOD_SUMMARY, modelOf } from './models.js';

const history = () => [userMessage('start'), ...rounds(30, () => ({ output: lines(40) }))];

describe('createCompactor', () => {
  it('is skipped, with the very same array, when nothing is due', async () => {
    const messages = rounds(3);
    const outcome = await createCompactor().compact(messages, { reason: 'proactive_budget' });
    expect(outcome).toMatchObject({ status: 'skipped', steps: [], manifest: [] });
    expect(outcome.messages).toBe(messages);
  });

  it('rewrites nothing but what it summarizes: no stage masks, truncates or drops unless it is asked for', async () => {
    const messages = [userMessage('start'), ...rounds(40, () => ({ output: lines(200) }))];
    const outcome = await createCompactor({ contextWindow: 20_000 }).compact(messages);
    expect(outcome.status).toBe('applied');
    expect(outcome.steps.map(({ stage }) => stage)).toEqual(['cut_unseen', 'native', 'summarize']);
    expect(new Set(outcome.manifest.map(({ stage, fate }) => `${stage} ${fate}`))).toEqual(
      new Set(['summarize summarized']),
    );
    const staying = outcome.messages.filter(({ kind }) => kind !== 'summary');
    for (const message of staying) expect(messages).toContain(message);
  });

  it('stops as soon as the view fits: masking that suffices is followed by no model call', async () => {
    const model = modelOf(() => GOOD_SUMMARY);
    const messages = [userMessage('start'), ...rounds(12, () => ({ output: lines(700) }))];
    const compactor = createCompactor({
      model,
      contextWindow: 20_000,
      stages: ['mask_outputs', 'summarize', 'drop_oldest'],
    });
    const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(outcome.status).toBe('applied');
    expect(outcome.steps.map(({ stage }) => stage)).toEqual(['mask_outputs']);
    expect(model.requests).toEqual([]);
  });

  it('keeps a cheap pass that ran by its own trigger, although no summary follows', async () => {
    const write = round({ name: 'write_file', input: { path: 'a', content: 'c'.repeat(20_000) } });
    const messages = [...write, ...rounds(13)];
    const compactor = createCompactor({
      stages: [truncateArgs({ triggerMessages: 20 }), 'summarize', 'drop_oldest'],
    });
    const outcome = await compactor.compact(messages, { reason: 'proactive_budget' });
    expect(outcome).toMatchObject({ status: 'applied', messagesAfter: 28 });
    expect(outcome.tokensAfter).toBeLessThan(outcome.tokensBefore - 4_000);
    expect(outcome.manifest).toEqual([
      { messageId: messages[0]?.id, fate: 'truncated', stage: 'truncate_args' },
    ]);
  });

  it('fails with a clear reason when the system prompt alone fills the window', async () => {
    const messages = history();
    const outcome = await createCompactor({ contextWindow: 1_000 }).compact(messages, {
      system: 'rule '.repeat(2_000),
    });
    expect(outcome.status).toBe('failed');
    expect(outcome.message).toMatch(/system prompt and tools need \d+ of 1000 tokens.*Shorten them/);
    expect(outcome.messages).toBe(messages);
  });

  it('says what could not be reduced', async () => {
    const messages = [userMessage('word '.repeat(10_000))];
    const outcome = await createCompactor({ contextWindow: 4_000 }).compact(messages);
    expect(outcome.status).toBe('ineffective');
    expect(outcome.message).toMatch(
      /still has 10\d+ tokens, but the window only 4000\. .* messages that must stay 10\d+\. Shorten/,
    );
    expect(outcome.messages).toBe(messages);
  });

  it('takes no answer away whose place nothing takes: a chat too short for a record stays as it is', async () => {
    const messages = Array.from({ length: 12 }, (_, index) => [
      userMessage(`What is ${index} times ${index + 7}, and why do you think so?`),
      assistantMessage(
        `${index} times ${index + 7} is ${index * (index + 7)}: multiplication repeats addition.`,
      ),
    ]).flat();
    for (const contextWindow of [1_000, 16_000]) {
      const outcome = await createCompactor({ contextWindow }).compact(messages);
      const record = outcome.messages.find(({ kind }) => kind === 'summary');
      if (record) expect(textOf(record)).toMatch(/^- r\d+ /m);
      else expect(outcome.messages).toBe(messages);
    }
    // A window that is full is another matter: what is asked stays, and less is said of the rest.
    for (const reason of ['proactive_budget', 'request_too_large', 'manual'] as const) {
      const text = 'a page of the book '.repeat(1_900);
      const full = [userMessage(`Read: ${text}`), assistantMessage('Noted.'), userMessage(`And: ${text}`)];
      const outcome = await createCompactor({ contextWindow: 20_000 }).compact(full, { reason });
      expect(outcome.status).toBe('applied');
      expect(outcome.messages.includes(full[2] as Message)).toBe(true);
    }
    expect(() => createCompactor({ summary: { record: 0 } })).toThrow(
      'summary.record: is 0 and there is no model',
    );
  });

  it('says of options what was probably meant', () => {
    const refused = (options: object) => expect(() => createCompactor(options));
    refused({ trigger: 0.5 }).toThrow('trigger: must be an object: { share: 0.5 } for a share of the window');
    refused({ trigger: { shar: 0.5 } }).toThrow('trigger.shar: unknown key; did you mean share?');
    refused({ stages: ['sumarize'] }).toThrow('did you mean summarize?');
    refused({ model: { id: 'm', stream: () => {} } }).toThrow(
      'must be a Model: an object with id and generate(request)',
    );
    refused({ contextWindow: 16_000, target: { tokens: 15_000 } }).toThrow(
      'target.tokens: 15000 must be below the trigger point 13600',
    );
    return expect(createCompactor().compact([], { recall: true } as never)).rejects.toThrow('RECALL_HINT');
  });

  it('refuses what is no conversation, and options that it does not know', async () => {
    const compactor = createCompactor();
    const refused = (messages: unknown, options: object = {}) =>
      expect(compactor.compact(messages as Message[], options)).rejects;
    await refused([{ role: 'user', content: 'hello' }]).toThrow(
      /messages\[0\]\.id: .* userMessage .* @x\/ai-sdk/,
    );
    await refused([userMessage('x'), { id: 'y', role: 'user', content: 'hello' }]).toThrow(
      'messages[1].content',
    );
    const broken = { ...userMessage('x'), content: [{ type: 'text' }] };
    await refused([userMessage('x'), broken]).toThrow('messages[1].content[0].text: must be a string');
    const result = (output: unknown) => toolResultMessage({ id: 'c', name: 'list' }, output as string);
    const cyclic: Record<string, unknown> = {};
    cyclic.self = cyclic;
    const call = (input: unknown) =>
      assistantMessage([{ type: 'tool_use', id: 'c', name: 'list', input } as never]);
    for (const [message, fault] of [
      [{ ...userMessage('x'), content: [{ type: 'txt' }] }, '.type: "txt" is not one of text, file,'],
      [{ ...userMessage('x'), content: [{ type: 'toString' }] }, '.type: "toString" is not one of'],
      [result({ rows: 3 }), '.output: must be a list of text and file blocks'],
      [result(null), '.output: must be a list of text and file blocks'],
      [result([{ type: 'tool_result' }]), '.output[0].type: "tool_result" is not one of text, file'],
      [call(undefined), '.input: is missing'],
      [assistantMessage([{ type: 'opaque', provider: 'x', data: 3n } as never]), '.data: is not valid JSON'],
      [call({ size: 3n }), '.input: is not valid JSON: Do not know how to serialize a BigInt'],
      [call(cyclic), '.input: is not valid JSON: Converting circular structure'],
    ] as const) {
      await refused([userMessage('x'), message]).toThrow(`messages[1].content[0]${fault}`);
    }
    expect(() => createCompactor(null as never)).toThrow(/expected object/);
    await refused('hello').toThrow('messages: must be a list');
    await refused([], { instruction: 'Keep names' }).toThrow('instruction: unknown key');
    await refused([], { reason: 'force' }).toThrow('reason: ');
    await expect(compactor.plan([null as never])).rejects.toThrow('messages[0]: must be a message');
  });

  it('says that two messages have one id, which nothing could be told apart by', async () => {
    const messages = [
      ...history(),
      userMessage('again', { id: 'twice' }),
      userMessage('more', { id: 'twice' }),
    ];
    const outcome = await createCompactor().compact(messages);
    expect(outcome).toMatchObject({ status: 'failed', message: expect.stringContaining('the id "twice"') });
    expect(outcome.messages).toBe(messages);
  });

  it('is aborted by its signal, before and in the middle', async () => {
    const messages = history();
    const before = await createCompactor().compact(messages, {
      signal: AbortSignal.abort(new Error('stop')),
    });
    expect(before).toMatchObject({ status: 'aborted', message: expect.stringContaining('stop') });
    expect(before.messages).toBe(messages);

    const controller = new AbortController();
    const model = modelOf(() => {
      controller.abort(new Error('stop'));
      return GOOD_SUMMARY;
    });
    const middle = await createCompactor({ model }).compact(messages, { signal: controller.signal });
    expect(middle.status).toBe('aborted');
    expect(middle.messages).toBe(messages);
  });

  it('is aborted at once, though the model does not heed the signal', async () => {
    const messages = history();
    const controller = new AbortController();
    const model: Model = {
      id: 'deaf',
      generate: () => {
        controller.abort(new Error('stop'));
        return new Promise(() => {});
      },
    };
    const outcome = await createCompactor({ model }).compact(messages, { signal: controller.signal });
    expect(outcome).toMatchObject({ status: 'aborted', message: expect.stringContaining('stop') });
    expect(outcome.messages).toBe(messages);
  });

  it('plans without calling a model or changing anything', async () => {
    const model = new ScriptedModel([{ text: GOOD_SUMMARY }]);
    const compactor = createCompactor({ model });
    const messages = history();
    const copy = structuredClone(messages);
    const plan = await compactor.plan(messages, { appendix: 'Todos' });
    const outcome = await compactor.compact(messages);
    model.assertComplete();
    expect(messages).toEqual(copy);
    expect(plan.status).toBe('applied');
    expect(plan.steps.map((step) => step.stage)).toEqual(outcome.steps.map((step) => step.stage));
    expect(plan.manifest).toEqual(outcome.manifest);
    expect(plan.steps.at(-1)?.note).toContain('planned');
  });

  it('uses the provider’s own compaction where there is one, byte for byte', async () => {
    // Its tokens count, and not its 60 000 characters.
    const data = { encrypted: 'A7f/'.repeat(15_000) };
    const opaque = { type: 'opaque', provider: 'acme', data, tokens: 30 } as const;
    const model = modelOf(() => GOOD_SUMMARY, {
      compact: async () => ({
        content: [opaque],
        usage: { inputTokens: 7, outputTokens: 1 },
      }),
    });
    const messages = history();
    const outcome = await createCompactor({ model }).compact(messages);
    expect(outcome.status).toBe('applied');
    const summary = outcome.messages.find(({ kind }) => kind === 'summary');
    expect(summary?.content.at(-1)).toEqual(opaque);
    expect(textOf(summary?.content ?? [])).toContain('## RECORD');
    expect(summary?.metadata).toMatchObject({
      modelId: model.id,
      '@x/compaction': { covers: expect.any(Array) },
    });
    expect(outcome.messages.at(-1)).toEqual(messages.at(-1));
    expect(new Set(outcome.manifest.map((entry) => entry.fate))).toEqual(new Set(['replaced']));
    expect(outcome.usage).toEqual({ inputTokens: 7, outputTokens: 1 });
    expect(model.requests).toEqual([]);

    const without = await createCompactor({ model: modelOf(() => GOOD_SUMMARY) }).compact(messages);
    expect(without.steps.find(({ stage }) => stage === 'native')?.note).toContain('is not turned on');
    expect(without.steps.at(-1)?.stage).toBe('summarize');
  });

  it('has a record in front of dropping where a ladder names native and no summarize', async () => {
    const model = {
      ...modelOf(() => GOOD_SUMMARY),
      compact: () => Promise.reject(new Error('the endpoint is down')),
    };
    const ran = async (config: CompactionSettings) => {
      const { steps } = await createCompactor({ model, contextWindow: 2_000, ...config }).compact(history());
      return steps.map(({ stage }) => stage);
    };
    const masked = ['native', 'mask_outputs'] as const;
    expect(await ran({ stages: [...masked, 'drop_oldest'] })).toEqual([...masked, 'summarize']);
    expect(await ran({ stages: ['native'] })).toEqual(['native', 'summarize']);
    for (const summary of [{ record: 0 }, { fallback: 'none' }] as const) {
      expect(await ran({ stages: ['native', 'drop_oldest'], summary })).toEqual(['native', 'drop_oldest']);
    }
    expect(model.requests).toEqual([]);
  });

  it('keeps three tiers: verbatim, masked, summarized', async () => {
    const messages = [userMessage('start'), ...rounds(40, () => ({ output: lines(50) }))];
    const compactor = createCompactor({
      preset: 'everruns',
      contextWindow: 8_000,
      memoryTiers: { hotMessages: 4, warmMessages: 10 },
    });
    const outcome = await compactor.compact(messages);
    const [request, summary, ...rest] = outcome.messages;
    expect(request).toBe(messages[0]);
    expect(summary?.kind).toBe('summary');
    expect(rest).toHaveLength(14);
    expect(rest.slice(-4)).toEqual(messages.slice(-4));
    for (const message of rest.slice(0, 10)) {
      if (message.role === 'tool') expect(textOf(message)).toMatch(/^\[read_file .* bytes\]$/);
    }
  });
});

describe('a stage of one’s own', () => {
  const dropping = (keep: (message: Message, index: number) => boolean, fates = true): Stage => ({
    name: 'mine',
    cost: 'free',
    async reduce(view) {
      const messages = view.messages.filter(keep);
      const gone = view.messages.filter((message) => !messages.includes(message));
      return {
        messages,
        fates: fates ? gone.map(({ id }) => ({ messageId: id, fate: 'dropped' as const })) : [],
      };
    },
  });
  const run = async (stages: Stage[], messages: readonly Message[] = history()) => {
    const outcome = await createCompactor({ stages }).compact(messages);
    return { outcome, messages };
  };

  it('takes part in the cascade', async () => {
    const { outcome } = await run([dropping((_, index) => index === 0 || index > 30)]);
    expect(outcome).toMatchObject({ status: 'applied', messagesAfter: 31 });
  });

  it.each([
    ['separates a call from its result', dropping((_, index) => index !== 5), /separated/],
    [
      'loses a message unaccounted for',
      dropping((_, index) => index === 0 || index > 30, false),
      /without an entry/,
    ],
    ['removes the latest request', dropping((_, index) => index > 30), /latest user message/],
  ])('is not used when it %s', async (_, stage, reason) => {
    const { outcome, messages } = await run([stage]);
    expect(outcome.status).toBe('failed');
    expect(outcome.message).toMatch(reason);
    expect(outcome.messages).toBe(messages);
  });

  it.each<[string, () => unknown]>([
    ['answers nothing', () => undefined],
    ['answers no account of what it did', () => Promise.resolve({ messages: [] })],
    [
      'changes the list in place',
      (...[view]: unknown[]) => {
        (view as { messages: Message[] }).messages.length = 1;
        return Promise.resolve({ messages: [], fates: [] });
      },
    ],
  ])('may be wrong: when it %s, the next one runs, and the list stays as it was', async (_, reduce) => {
    const wrong: Stage = { name: 'wrong', cost: 'free', reduce: reduce as Stage['reduce'] };
    const messages = history();
    const copy = [...messages];
    const { outcome } = await run([wrong, dropping((_, index) => index === 0 || index > 30)], messages);
    expect(outcome).toMatchObject({ status: 'applied', message: expect.stringContaining('wrong: ') });
    expect(messages).toEqual(copy);
  });

  it('may throw: the next one runs', async () => {
    const broken: Stage = { name: 'broken', cost: 'free', reduce: () => Promise.reject(new Error('oops')) };
    const { outcome } = await run([broken, dropping((_, index) => index === 0 || index > 30)]);
    expect(outcome.status).toBe('applied');
    expect(outcome.steps[0]?.note).toContain('oops');
    expect(outcome.message).toContain('oops');
  });
});

it('gives no conversation the late narrative of another that shares messages with it', async () => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const model: Model = {
    id: 'acme:small',
    async generate({ messages }) {
      await gate;
      const name = JSON.stringify(messages).includes('Alice') ? 'Alice' : 'Bob';
      const text = ['SESSION INTENT', 'SUMMARY', 'ARTIFACTS', 'NEXT STEPS']
        .map((heading) => `## ${heading}\nTold about ${name}.`)
        .join('\n');
      return { content: [{ type: 'text', text }], finishReason: 'stop' };
    },
  };
  const compactor = createCompactor({ model, contextWindow: 8_000, summary: { waitMs: 0 } });
  const said = (id: string, role: 'user' | 'assistant', text: string): Message => ({
    id,
    role,
    content: [{ type: 'text', text }],
    createdAt: new Date(0).toISOString(),
  });
  const reduced = async (name: string, messages: readonly Message[], from: number) => {
    const turns = Array.from({ length: 20 }, (_, turn) => [
      said(`${name}-${from + turn}`, 'user', `${name} asks`),
      said(`${name}-${from + turn}-a`, 'assistant', `Answer ${turn}: ${'because '.repeat(400)}`),
    ]).flat();
    const list = [...messages, ...turns];
    return (await compactor.compact(list, { reason: 'proactive_budget' })).messages;
  };
  // Adapters make ids of content, so this message has one id everywhere.
  const hello = [said('hello', 'user', 'Hello'), said('hello-a', 'assistant', 'How can I help?')];
  const alice = await reduced('Alice', hello, 0);
  const bob = await reduced('Bob', hello, 0);
  release();
  await setImmediate();
  expect(JSON.stringify(await reduced('Bob', bob, 20))).not.toContain('Alice');
  expect(JSON.stringify(await reduced('Alice', alice, 20))).toContain('Told about Alice.');
});

it.each(['late', 'aborted'])('reports the usage of a model call whose answer is %s', async (how) => {
  let release = () => {};
  const gate = new Promise<void>((resolve) => {
    release = resolve;
  });
  const usage = { inputTokens: 900, outputTokens: 90 };
  const aborting = new AbortController();
  const model: Model = {
    id: `acme:${how}`,
    async generate() {
      if (how === 'aborted') aborting.abort();
      await gate;
      return { content: [{ type: 'text', text: GOOD_SUMMARY }], finishReason: 'stop', usage };
    },
  };
  const waitMs = how === 'late' ? 0 : 60_000;
  const compactor = createCompactor({ model, contextWindow: 8_000, summary: { waitMs } });
  const spent: Usage[] = [];
  const onUsage = (each: Usage) => void spent.push(each);
  const outcome = await compactor.compact(history(), { onUsage, signal: aborting.signal });
  const status = how === 'late' ? 'applied' : 'aborted';
  expect([outcome.status, outcome.usage, spent]).toEqual([status, undefined, []]);
  release();
  await setImmediate();
  expect(spent).toEqual([usage]);
});
