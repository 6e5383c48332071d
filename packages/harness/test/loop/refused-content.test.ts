import { compaction } from '@x/compaction';
import {
  type AgentEvent,
  assistantMessage,
  defineTool,
  type FileBlock,
  InMemorySession,
  type Message,
  type Model,
  ModelError,
  type ModelRequest,
  RuntimeContext,
  type ToolOutputBlock,
  textOf,
  userMessage,
} from '@x/core';
import { expect, it } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { collect, isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });
const png: FileBlock = {
  type: 'file',
  mediaType: 'image/png',
  source: { type: 'base64', data: 'Q09SUlVQVA==' },
};
const POISON = 'poison';
const refused = (status: number, message = 'The provider refuses it.') => new ModelError(message, { status });

/** A provider that refuses pictures, and texts and inputs with a word. It looks when it is asked, and says so. */
function strict(
  refusal: Error = refused(400),
): Model & { readonly taken: ModelRequest[]; refusals: number; next?: string | undefined } {
  const model = {
    id: 'strict',
    taken: [] as ModelRequest[],
    refusals: 0,
    next: undefined as string | undefined,
    async generate(request: ModelRequest) {
      const said = JSON.stringify(request.messages);
      if (said.includes(POISON) || said.includes('"file"')) {
        model.refusals++;
        throw refusal;
      }
      model.taken.push(request);
      const { next } = model;
      model.next = undefined;
      if (next === undefined)
        return { content: [{ type: 'text' as const, text: 'ok' }], finishReason: 'stop' as const };
      const call = { type: 'tool_use', id: 'c', name: 'look', input: { next } } as const;
      return { content: [call], finishReason: 'tool-calls' as const };
    },
  };
  return model;
}

function build(model: Model, output: readonly ToolOutputBlock[] = []) {
  const look = defineTool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => [...output],
  });
  const events: AgentEvent[] = [];
  const session = new InMemorySession();
  const agent = HarnessAgent.builder()
    .model(model)
    .tools(look)
    .workspace(scratch())
    .session(session)
    .onEvent((event) => events.push(event))
    .build();
  return { agent, events };
}

async function logged(agent: HarnessAgent): Promise<readonly Message[]> {
  const messages: Message[] = [];
  for await (const message of agent.log(context).read()) messages.push(message);
  return messages;
}

it('asks again without the newest files, keeps that, and brings them back when somebody asks', async () => {
  const model = strict();
  const { agent, events } = build(model);
  await agent.call('Hi', context);
  const message = userMessage([{ type: 'text', text: 'See' }, png], { id: 'seen' });
  expect((await agent.call(message, context)).text).toBe('ok');
  expect(model.refusals).toBe(1);
  expect(textOf(model.taken.at(-1)?.messages.at(-1) as Message)).toMatch(
    /^\[Set aside, .*A file \(image\/png, 7 bytes\).*\]\nSee$/s,
  );
  expect(events.filter(({ type }) => type === 'message.set_aside')).toMatchObject([
    { messageId: 'seen', what: 'A file (image/png, 7 bytes)' },
  ]);
  expect(events.filter(({ type }) => type === 'warning')).toMatchObject([
    {
      message: expect.stringMatching(
        /without A file \(image\/png, 7 bytes\), which is set aside: The provider refuses it\.$/,
      ),
    },
  ]);

  expect((await agent.call('And now?', context)).text).toBe('ok');
  expect(model.refusals).toBe(1);
  expect((await logged(agent)).find(({ id }) => id === 'seen')).toMatchObject(message);

  await agent.restoreMessage(context, 'seen');
  expect((await agent.state(context))?.context.find(({ id }) => id === 'seen')).toMatchObject(message);
});

it.each([
  ['text of a user', async (agent: HarnessAgent) => agent.call(POISON, context)],
  [
    'text of a tool',
    async (agent: HarnessAgent, model: ReturnType<typeof strict>) => {
      model.next = '1';
      return agent.call('Look', context);
    },
  ],
  [
    'input of a call',
    async (agent: HarnessAgent, model: ReturnType<typeof strict>) => {
      model.next = POISON;
      return agent.call('Look', context);
    },
  ],
])('costs the turn of a refused %s, and never the next', async (_, spoil) => {
  const model = strict();
  const { agent, events } = build(model, [{ type: 'text', text: POISON }]);
  await agent.call('Hi', context);
  await expect(spoil(agent, model)).rejects.toThrow('The provider refuses it.');
  expect(JSON.stringify((await agent.state(context))?.context)).toContain(POISON);

  expect((await agent.call('Hello?', context)).text).toBe('ok');
  const { refusals } = model;
  expect((await agent.call('And now?', context)).text).toBe('ok');
  expect(model.refusals).toBe(refusals);
  const state = await agent.state(context);
  expect(isPaired(state?.context ?? [])).toBe(true);
  expect(state?.context.map(textOf)).toContain('Hi');
  expect(JSON.stringify(await logged(agent))).toContain(POISON);
  expect(events.some(({ type }) => type === 'message.set_aside')).toBe(true);
});

it.each([
  ...[403, 404, 406, 415, 424, 451, 500].map((status) => refused(status)),
  refused(400, 'Unsupported file: billing.zip'),
  refused(400, 'Error while downloading https://example.com/p.png: 401 Unauthorized'),
  refused(422, 'File "rate limits.odt" cannot be read'),
  new TypeError('Invalid URL'),
])('costs the turn of what fails with $status: $message, and never the next', async (refusal) => {
  const model = strict(refusal);
  const { agent, events } = build(model);
  await agent.call('Hi', context);
  await expect(agent.call(POISON, context)).rejects.toThrow(refusal.message);
  expect((await agent.call('Hello?', context)).text).toBe('ok');
  expect(events.filter(({ type }) => type === 'message.set_aside')).toHaveLength(1);
  expect(JSON.stringify(await logged(agent))).toContain(POISON);
});

it.each([refused(500), refused(403, 'You exceeded your current quota.'), new TypeError('terminated')])(
  'sets nothing aside for a failure that passes: $message',
  async (failure) => {
    const model = strict();
    let failures = 0;
    const { generate } = model;
    model.generate = async (request) => {
      if (failures-- > 0) throw failure;
      return generate(request);
    };
    const { agent, events } = build(model);
    await agent.call('Hi', context);
    failures = 1;
    await expect(agent.call('My wish', context)).rejects.toThrow(failure.message);
    failures = 1;
    expect((await agent.call('Hello?', context)).text).toBe('ok');
    expect(JSON.stringify(model.taken.at(-1)?.messages)).toContain('My wish');
    expect(events.some(({ type }) => type === 'message.set_aside')).toBe(false);
  },
);

it.each([
  ['content-filter', ''],
  ['refusal', ''],
  ['refusal', 'I can'],
] as const)(
  'costs the turn whose answer ends with %s after "%s", and never the next',
  async (finishReason, text) => {
    const asked: ModelRequest[] = [];
    const model: Model = {
      id: 'withholding',
      async generate(request) {
        asked.push(request);
        const usage = { inputTokens: 10, outputTokens: 1 };
        if (!JSON.stringify(request.messages).includes(POISON))
          return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop', usage };
        return { content: text === '' ? [] : [{ type: 'text', text }], finishReason, usage };
      },
    };
    const { agent, events } = build(model);
    await agent.call('Hi', context);
    const stopReason = finishReason === 'refusal' ? 'refused' : 'filtered';
    expect(await agent.call(POISON, context)).toMatchObject({ stopReason, text });
    expect(asked).toHaveLength(2);
    expect(await agent.call('Hello?', context)).toMatchObject({ text: 'ok', usage: { inputTokens: 20 } });
    expect((await agent.call('And now?', context)).text).toBe('ok');
    expect(asked).toHaveLength(5);
    expect(events).toContainEqual(expect.objectContaining({ type: 'message.set_aside' }));
    expect(JSON.stringify(await logged(agent))).toContain(POISON);
  },
);

it('brings everything back where each answer is withheld', async () => {
  let isOpen = true;
  const model: Model = {
    id: 'withholding',
    generate: async () => ({
      content: [{ type: 'text', text: 'ok' }],
      finishReason: isOpen ? 'stop' : 'refusal',
    }),
  };
  const { agent, events } = build(model);
  await agent.call('Hi', context);
  isOpen = false;
  for (const text of ['One', 'Two']) expect((await agent.call(text, context)).stopReason).toBe('refused');
  expect((await agent.state(context))?.context.map(textOf)).toEqual(['Hi', 'ok', 'One', 'ok', 'Two', 'ok']);
  expect(events.some(({ type }) => type === 'message.set_aside')).toBe(false);
});

it('does not set a summary aside, and names the first reason', async () => {
  const asked: (readonly Message[])[] = [];
  const model: Model = {
    id: 'strict',
    async generate({ messages }) {
      asked.push(messages);
      if (JSON.stringify(messages).includes(POISON))
        throw new ModelError(`Refused ${asked.length}.`, { status: 400 });
      return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
    },
  };
  const { agent, events } = build(model);
  await agent.updateState(context, (state) => {
    const summary = userMessage('All so far', { kind: 'summary' });
    const answer = assistantMessage([{ type: 'text', text: 'Yes.' }]);
    state.contextMutable().push(summary, userMessage(POISON), answer);
  });
  expect((await agent.call('Hello?', context)).text).toBe('ok');
  expect(asked.length).toBeGreaterThan(2);
  expect(asked.at(-1)?.map(textOf)).toContain('All so far');
  expect(events.find(({ type }) => type === 'warning')).toMatchObject({
    message: expect.stringMatching(/which is set aside: Refused 1\.$/),
  });
});

it('sets nothing aside of a message whose call is continued', async () => {
  const { agent, events } = build(strict(refused(500)));
  await agent.call('Hi', context);
  await expect(agent.call(POISON, context)).rejects.toThrow('The provider refuses it.');
  await expect(agent.resume(context)).rejects.toThrow('The provider refuses it.');
  expect(events.some(({ type }) => type === 'message.set_aside')).toBe(false);
  expect((await agent.state(context))?.context.map(textOf)).toContain(POISON);
});

it('asks once more without what only another account can read, and keeps that', async () => {
  let refusals = 0;
  const model: Model = {
    id: 'elsewhere',
    async generate({ messages }) {
      if (!JSON.stringify(messages).includes('rs_1'))
        return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
      refusals++;
      throw new ModelError("Item with id 'rs_1' not found.", { status: 404 });
    },
  };
  const { agent } = build(model);
  await agent.updateState(context, (state) => {
    const thought = {
      type: 'thinking',
      thinking: 'Hm',
      providerMetadata: { openai: { itemId: 'rs_1' } },
    } as const;
    const answer = { type: 'text', text: 'Yes.' } as const;
    state.contextMutable().push(userMessage('Is it?'), assistantMessage([thought, answer]));
  });
  for (const text of ['Hello?', 'And now?']) expect((await agent.call(text, context)).text).toBe('ok');
  expect(refusals).toBe(1);
  expect((await agent.state(context))?.context.map(textOf)).toContain('Yes.');
});

it('leaves an outage to the next model, and sets nothing aside for it', async () => {
  const down: Model = {
    id: 'down',
    generate: () => Promise.reject(new ModelError('Internal error', { status: 500 })),
  };
  const { agent } = build(down);
  await expect(agent.call('One', context)).rejects.toThrow('Internal error');
  await expect(agent.call('Two', context)).rejects.toThrow('Internal error');
  expect((await agent.state(context))?.context.map(textOf)).toEqual(['One', 'Two']);
  const model = strict();
  const fallen = HarnessAgent.builder()
    .model(down, { fallback: [model] })
    .workspace(scratch())
    .session(agent.session)
    .build();
  expect((await fallen.call('Three', context)).text).toBe('ok');
  expect(model.taken.at(-1)?.messages.map(textOf)).toEqual(['One', 'Two', 'Three']);
});

it('asks again without pictures where the request has too many bytes', async () => {
  const model = strict(refused(413));
  const { agent, events } = build(model);
  await agent.call('Hi', context);
  const message = userMessage([{ type: 'text', text: 'See' }, png], { id: 'seen' });
  expect((await agent.call(message, context)).text).toBe('ok');
  expect(model.refusals).toBe(1);
  expect(events.filter(({ type }) => type === 'message.set_aside')).toMatchObject([{ messageId: 'seen' }]);
});

it('leaves everything as it is where no attempt succeeds', async () => {
  let asked = 0;
  const generate = () => {
    asked++;
    return Promise.reject(new ModelError('Unknown parameter: top_p', { status: 400 }));
  };
  const { agent, events } = build({ id: 'misconfigured', generate });
  const said = [userMessage('One'), userMessage([{ type: 'text', text: 'Two' }, png])];
  for (const message of said) await expect(agent.call(message, context)).rejects.toThrow('Unknown parameter');
  expect((await agent.state(context))?.context).toMatchObject(said);
  expect(events.some(({ type }) => type === 'message.set_aside')).toBe(false);
  expect(asked).toBeLessThan(10);
});

it('asks once about a model that does not exist', async () => {
  let asked = 0;
  const generate = () => Promise.reject(new ModelError(`No such model ${++asked}`, { status: 404 }));
  const { agent } = build({ id: 'missing', generate });
  await expect(agent.call(userMessage([png, { type: 'text', text: 'See' }]), context)).rejects.toThrow(
    'No such model 1',
  );
});

it('sends the whole message again when its call is repeated', async () => {
  let isDown = true;
  const requests: ModelRequest[] = [];
  const model: Model = {
    id: 'mended',
    async generate(request) {
      requests.push(request);
      if (isDown) throw new ModelError('Unknown parameter', { status: 400 });
      return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
    },
  };
  const { agent } = build(model);
  await expect(agent.call('Do it', context, { id: 'call' })).rejects.toThrow('Unknown parameter');
  isDown = false;
  expect((await agent.call('Do it', context, { id: 'call' })).text).toBe('ok');
  expect(requests.at(-1)?.messages.map(textOf)).toEqual(['Do it']);
});

it('sets a message aside when a person asks, and says which messages there are not', async () => {
  const { agent, events } = build(strict());
  await agent.call(userMessage('The key is 1234', { id: 'secret' }), context);
  await agent.setAside(context, 'secret');
  expect(JSON.stringify((await agent.state(context))?.context)).not.toContain('1234');
  expect(events.filter(({ type }) => type === 'message.set_aside')).toMatchObject([
    { messageId: 'secret', what: 'a text of 15 characters' },
  ]);
  await agent.restoreMessage(context, 'secret');
  expect((await agent.state(context))?.context.map(textOf)).toEqual(['The key is 1234', 'ok']);
  await expect(agent.setAside(context, 'nobody')).rejects.toMatchObject({ code: 'invalid_input' });
  await expect(agent.restoreMessage(context, 'nobody')).rejects.toMatchObject({ code: 'invalid_input' });
});

it('tells the model and the application, once, of a file that the model does not read', async () => {
  const requests: ModelRequest[] = [];
  const model: Model = {
    id: 'blind',
    accepts: () => false,
    async generate(request) {
      requests.push(request);
      return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
    },
  };
  const { agent } = build(model);
  const told = async (input: string | Message) =>
    (await collect(agent.stream(input, context))).filter(({ type }) => type === 'warning');
  const line = 'A file (image/png, 7 bytes) cannot be shown to this model';
  expect(await told(userMessage([png]))).toMatchObject([{ message: expect.stringContaining(line) }]);
  expect(await told('And now?')).toEqual([]);
  expect(textOf(requests.at(-1)?.messages[0] as Message)).toContain(line);
  expect((await agent.state(context))?.context[0]?.content).toEqual([png]);
});

it.each([
  [
    'requests in front of a summary',
    (requests: Message[]) => [
      ...requests.slice(0, -1),
      userMessage('They were answered.', { kind: 'summary' }),
      ...requests.slice(-1),
    ],
  ],
  [
    'notes that no call added',
    (requests: Message[]) => [
      ...requests.slice(0, -1),
      assistantMessage('ok'),
      userMessage('Never rename foo.', { kind: 'synthetic' }),
      ...requests.slice(-1),
    ],
  ],
])('keeps %s if one answer is withheld', async (_, rewrite) => {
  const finishReasons = ['stop', 'stop', 'content-filter', 'stop'] as const;
  const events: AgentEvent[] = [];
  let asked = 0;
  const agent = HarnessAgent.builder()
    .model({
      id: 'strict',
      async generate() {
        const finishReason = finishReasons[asked++] ?? 'stop';
        return { content: [{ type: 'text', text: 'ok' }], finishReason };
      },
    })
    .use({
      name: 'summarize',
      aroundReason({ state }, next) {
        const context = state.contextMutable();
        if (context.length > 4) {
          context.splice(0, context.length, ...rewrite(context.filter(({ role }) => role === 'user')));
        }
        return next();
      },
    })
    .workspace(scratch())
    .session(new InMemorySession())
    .onEvent((event) => events.push(event))
    .build();
  await agent.call('Never rename foo.', context);
  await agent.call('Read it.', context);
  expect((await agent.call('Go on.', context)).stopReason).toBe('filtered');
  expect(events.filter(({ type }) => type === 'message.set_aside')).toEqual([]);
  const left = (await agent.state(context))?.context ?? [];
  expect(left.map(textOf)).toContain('Never rename foo.');
  await agent.close();
});

it('goes on after a rejected message that was taken for a request of too many tokens', async () => {
  const agent = HarnessAgent.builder()
    .model({
      id: 'strict',
      contextWindow: 6_000,
      async generate({ messages }) {
        if (JSON.stringify(messages).includes(POISON))
          throw new ModelError('The provider refuses it.', { status: 400 });
        return {
          content: [
            { type: 'text', text: Array.from({ length: 70 }, (_, at) => `x${at} value ${at * 7}`).join(' ') },
          ],
          finishReason: 'stop' as const,
        };
      },
    })
    .use(compaction({ model: null }))
    .workspace(scratch())
    .session(new InMemorySession())
    .build();
  // How full the window is depends on the number of turns.
  for (let turns = 12; turns < 20; turns++) {
    const session = RuntimeContext.of({ sessionId: `s${turns}` });
    for (let turn = 0; turn < turns; turn++)
      await agent.call(`Question ${turn} ${'why '.repeat(60)}`, session);
    await expect(agent.call(POISON, session)).rejects.toThrow('The provider refuses it.');
    expect((await agent.call('Go on.', session)).stopReason).toBe('completed');
  }
  await agent.close();
});
