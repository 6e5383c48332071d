import {
  type AgentEvent,
  assistantMessage,
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  OutcomeUnknownError,
  RuntimeContext,
  type Tool,
  textOf,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from '@x/core';
import { wrapStore } from '@x/core/store';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

function builder(script: readonly ScriptEntry[] | Model) {
  return HarnessAgent.builder()
    .model('id' in script ? script : new ScriptedModel(script))
    .workspace(scratch())
    .session(new InMemorySession())
    .settings({ maxRetries: 0 });
}

function processWarnings() {
  const warned = vi.spyOn(process, 'emitWarning').mockReturnValue();
  onTestFinished(() => warned.mockRestore());
  return warned;
}

/** What a neighbor may throw: nothing, what is no error, and what cannot be shown. */
const THROWN: readonly (readonly [string, unknown])[] = [
  ['an error', new Error('a bug')],
  ['undefined', undefined],
  ['a symbol', Symbol('odd')],
  ['an object without a prototype', Object.create(null)],
  [
    'an object that cannot be printed',
    {
      toString() {
        throw new Error('again');
      },
    },
  ],
];

describe.each(THROWN)('a listener that throws %s', (_, thrown) => {
  const failing = [
    (): void => {
      throw thrown;
    },
    async (): Promise<void> => {
      throw thrown;
    },
  ];

  it.each(failing)('is one warning to the other listeners of a call (%#)', async (listener) => {
    const warned = processWarnings();
    const events: AgentEvent[] = [];
    const agent = builder([{ text: 'fine' }])
      .onEvent(listener)
      .onEvent((event) => events.push(event))
      .build();
    expect((await agent.call('Hi', context)).text).toBe('fine');
    await agent.close();
    expect(events.filter(({ type }) => type === 'warning')).toEqual([
      expect.objectContaining({ source: 'onEvent', message: expect.stringContaining('threw: ') }),
    ]);
    expect(warned).not.toHaveBeenCalled();
  });

  it.each(failing)('is a process warning where nobody else listens (%#)', async (listener) => {
    const warned = processWarnings();
    const observer: Capability = { name: 'watcher', observe: listener };
    const watched = builder([{ text: 'fine' }])
      .use(observer)
      .build();
    const heard = builder([{ text: 'fine' }])
      .onEvent(listener)
      .build();
    for (const agent of [watched, heard]) {
      expect((await agent.call('Hi', context)).text).toBe('fine');
      await agent.close();
    }
    const sources = warned.mock.calls.map(([message]) => String(message).split(':')[0]);
    expect(sources).toEqual(['watcher', 'onEvent']);
  });
});

describe('a tool that ran', () => {
  const MAY_HAVE = 'The call ran and may have taken effect. Check before you repeat it.';
  const ends: Readonly<Record<string, (signal: AbortSignal) => unknown>> = {
    'and returned what cannot be kept': () => ({ paid: Promise.resolve(1) }),
    'until its time was up': () => new Promise(() => {}),
    'until it was told to stop': (signal) =>
      new Promise((_, reject) => {
        signal.addEventListener('abort', () => reject(new Error('This operation was aborted')));
      }),
    'and lost the answer': () => Promise.reject(new OutcomeUnknownError('The bank went away.')),
  };

  it.each(Object.entries(ends))('%s may have taken effect, unless it reads only', async (_, execute) => {
    const shape = { description: '', input: { type: 'object' }, timeoutMs: 5 } as const;
    const run = (__: unknown, { signal }: { signal: AbortSignal }) => execute(signal) as never;
    const model = new ScriptedModel([
      { toolCalls: ['pay', 'look'].map((name) => ({ name, input: {} })) },
      { text: 'I shall look' },
    ]);
    const agent = builder(model)
      .tools(
        defineTool({ ...shape, name: 'pay', execute: run }),
        defineTool({ ...shape, name: 'look', readOnly: true, execute: run }),
      )
      .build();
    const { messages } = await agent.call('Pay', context);
    const results = messages.flatMap(toolResultsOf);
    expect(results.map(({ isError }) => isError)).toEqual([true, true]);
    expect(results.map(({ output }) => textOf(output).includes(MAY_HAVE))).toEqual([true, false]);
  });
});

describe('a hook', () => {
  type Hooks = Omit<Capability, 'name'>;
  const bad = (value: unknown) => value as never;
  const CHECKED: readonly (readonly [string, Hooks, string])[] = [
    ['aroundCall', { aroundCall: async () => {} }, 'call next()'],
    ['aroundReason', { aroundReason: async () => bad(undefined) }, 'returned undefined'],
    ['aroundReason', { aroundReason: async (_, next) => bad([await next()]) }, 'return the result of next()'],
    ['aroundModel', { aroundModel: async () => bad({ content: 'Hi' }) }, 'returned {"content":"Hi"}'],
    ['aroundModel', { aroundModel: () => bad(undefined) }, 'returned undefined'],
    ['system', { system: () => bad(5) }, 'returned 5'],
    ['remind', { remind: () => bad('x') }, 'return a list of messages'],
    ['remind', { remind: () => bad([null]) }, 'return a list of messages'],
    ['offerTools', { offerTools: () => bad([null]) }, 'return a list of tools'],
    ['offerTools', { offerTools: () => bad(Promise.resolve([])) }, 'not a promise'],
  ];

  it.each(CHECKED)('%s that returns what it may not is named (%#)', async (hook, hooks, text) => {
    const agent = builder([{ text: 'fine' }])
      .use({ name: 'odd', ...hooks })
      .build();
    const call = agent.call('Hi', context);
    await expect(call).rejects.toMatchObject({
      code: 'hook_invalid',
      message: expect.stringContaining(text),
    });
    await expect(call).rejects.toThrow(`The hook ${hook} of "odd" returned `);
  });

  it('around a call runs it once, also where it asks for it twice', async () => {
    const agent = builder([{ text: 'one' }, { text: 'two' }])
      .use({
        name: 'odd',
        aroundCall: async (_, next) => {
          await next();
          await next();
        },
      })
      .build();
    expect((await agent.call('Hi', context)).text).toBe('one');
    expect((await agent.state(context))?.context.map(textOf)).toEqual(['Hi', 'one']);
  });

  it('that answers with blocks that are none fails the call with their path', async () => {
    const answer = bad({ content: [{ type: 'hologram' }], finishReason: 'stop' });
    const agent = builder([])
      .use({ name: 'odd', aroundModel: async () => answer })
      .build();
    await expect(agent.call('Hi', context)).rejects.toMatchObject({
      code: 'invalid_input',
      issues: [expect.objectContaining({ path: '[0].content[0].type' })],
    });
  });

  it('may answer in place of a model', async () => {
    const answer = { content: [{ type: 'text', text: 'cached' }], finishReason: 'stop' } as const;
    const agent = builder([])
      .use({
        name: 'cache',
        aroundModel: async () => ({ ...answer, usage: { inputTokens: -1, outputTokens: 1 } }),
      })
      .build();
    const { text, stopReason, usage } = await agent.call('Hi', context);
    expect({ text, stopReason, usage }).toMatchObject({
      text: 'cached',
      stopReason: 'completed',
      usage: { inputTokens: 0 },
    });
  });

  it.each<[string, NonNullable<Hooks['aroundCall']>]>([
    ['does not wait for the call', async (_, next) => void next()],
    ['hides how it ended', (_, next) => next().catch(() => {})],
  ])('around a call that %s changes nothing of its end', async (_, aroundCall) => {
    const agent = builder([{ text: 'fine' }, { error: new Error('Overloaded') }])
      .use({ name: 'odd', aroundCall })
      .build();
    expect((await agent.call('Hi', context)).text).toBe('fine');
    await expect(agent.call('Hi', context)).rejects.toThrow('Overloaded');
  });

  it.each([true, false, {}, 'deny'])('that judges a call with %j denies it', async (verdict) => {
    processWarnings();
    const ran: string[] = [];
    const pay = defineTool({
      name: 'pay',
      description: '',
      input: { type: 'object' },
      execute: () => void ran.push('pay'),
    });
    const agent = builder([{ toolCalls: [{ name: 'pay', input: {} }] }, { text: 'denied' }])
      .tools(pay)
      .use({ name: 'odd', authorize: () => bad(verdict) })
      .build();
    expect((await agent.call('Pay', context)).text).toBe('denied');
    expect(ran).toEqual([]);
  });
});

describe.each(THROWN)('%s, thrown', (name, thrown) => {
  const fail = async () => {
    throw thrown;
  };
  const hooks = ['system', 'remind', 'aroundCall', 'aroundReason', 'aroundModel', 'aroundTool'] as const;
  const sources: readonly (readonly [string, () => HarnessAgent])[] = [
    ['a model', () => builder({ id: 'mine', generate: fail }).build()],
    ...hooks.map(
      (hook) =>
        [
          hook,
          () =>
            builder([{ toolCalls: [{ name: 'look', input: {} }] }])
              .use({ name: 'odd', [hook]: fail })
              .build(),
        ] as const,
    ),
    [
      'a store',
      () =>
        builder([])
          .session(wrapStore(new InMemorySession(), { load: fail }))
          .build(),
    ],
  ];

  it.each(sources)('by %s, fails the call with an error that says who threw it', async (_, make) => {
    processWarnings();
    const error: unknown = await make()
      .call('Hi', context)
      .catch((error: unknown) => error);
    if (name === 'an error') expect(error).toBe(thrown);
    else
      expect(error).toMatchObject({
        code: 'no_error',
        message: expect.stringContaining('threw a value that is not an Error'),
      });
  });

  it('by a tool, is told to the model', async () => {
    const tool = defineTool({ name: 'look', description: '', input: { type: 'object' }, execute: fail });
    const agent = builder([{ toolCalls: [{ name: 'look', input: {} }] }, { text: 'I see' }])
      .tools(tool)
      .build();
    const { text, messages } = await agent.call('Hi', context);
    expect(text).toBe('I see');
    expect(messages.flatMap(toolResultsOf)).toMatchObject([{ isError: true }]);
  });
});

describe('what changes after it was checked', () => {
  it('is stored as it was: a message of the caller', async () => {
    const content = [{ type: 'text' as const, text: 'Hi' }];
    const model: Model = {
      id: 'slow',
      generate: async () => {
        content.push({ type: 'text', text: (() => 1) as never });
        return { content: [{ type: 'text', text: 'fine' }], finishReason: 'stop' };
      },
    };
    const agent = builder(model).build();
    expect((await agent.call({ ...userMessage('Hi'), content }, context)).text).toBe('fine');
    expect((await agent.state(context))?.context.map(textOf)).toEqual(['Hi', 'fine']);
  });

  it('is stored as it was: the input and the output of a tool', async () => {
    const output = [{ type: 'text' as const, text: 'first' }];
    const odd: Tool = {
      definition: { name: 'odd', description: '', inputSchema: { type: 'object' } },
      readOnly: true,
      run: async (input) => {
        Object.assign(input as object, { later: () => 1 });
        return output;
      },
    };
    const change = () => {
      Object.assign(output[0] ?? {}, { text: 'second' });
      return { text: 'fine' };
    };
    const agent = builder([{ toolCalls: [{ name: 'odd', input: { a: 1 } }] }, change])
      .tools(odd)
      .build();
    const { messages } = await agent.call('Hi', context);
    expect(messages.flatMap(toolUsesOf)).toMatchObject([{ input: { a: 1 } }]);
    expect(JSON.stringify(messages.flatMap(toolUsesOf))).not.toContain('later');
    expect(messages.flatMap(toolResultsOf).map(({ output }) => textOf(output))).toEqual(['first']);
  });
});

it('gives a call an id where the model gives none', async () => {
  const look = defineTool({
    name: 'look',
    description: '',
    input: { type: 'object' },
    execute: () => 'seen',
  });
  const use = { type: 'tool_use', id: '', name: 'look', input: {} } as const;
  const answers = [[use, use], [{ type: 'text', text: 'fine' }]] as const;
  let asked = 0;
  const generate = async () => ({ content: answers[asked++] ?? [], finishReason: 'stop' as const });
  const agent = builder({ id: 'mine', generate }).tools(look).build();
  const { messages } = await agent.call('Hi', context);
  expect(new Set(messages.flatMap(toolUsesOf).map(({ id }) => id)).size).toBe(2);
  expect(isPaired(messages)).toBe(true);
});

it.each([5, 'now', {}])('refuses the signal %j', async (signal) => {
  const agent = builder([]).build();
  const refused = { code: 'invalid_input', issues: [expect.objectContaining({ path: 'signal' })] };
  await expect(agent.call('Hi', context, { signal } as never)).rejects.toMatchObject(refused);
  await expect(agent.stream('Hi', context, { signal } as never).next()).rejects.toMatchObject(refused);
});

describe('what was said', () => {
  const said = async (agent: HarnessAgent) => (await agent.state(context))?.context.map(textOf);

  type Converts = (messages: readonly { content: { input?: { amount: number } }[] | string }[]) => void;
  it.each<[string, Converts]>([
    ['texts', (messages) => void Object.assign(messages.at(-1) ?? {}, { content: 'converted' })],
    ['what was loaded', (messages) => void Object.assign(messages[0] ?? {}, { content: 'converted' })],
    ['a block', ([message]) => void Object.assign(message?.content[0] ?? {}, { text: 'converted' })],
    [
      'the input of a call',
      (messages) => {
        for (const { content } of messages) {
          if (typeof content === 'string') continue;
          for (const { input } of content) if (input) input.amount = 1;
        }
      },
    ],
    ['a record', (messages) => void Object.assign(messages.at(-2) ?? {}, { content: 'converted' })],
  ])('is not changed by a model that converts %s in place', async (_, convert) => {
    const workspace = scratch();
    const session = new InMemorySession();
    const agentOf = (model: readonly ScriptEntry[] | Model) =>
      builder(model)
        .workspace(workspace)
        .session(session)
        .use({
          name: 'records',
          aroundReason: (scope, next) => {
            // As a compaction: it takes the place of what was said.
            const [first, ...rest] = scope.state.context;
            if (first && rest.length > 3)
              scope.state.contextMutable().splice(-1, 0, assistantMessage('A record'));
            return next();
          },
        })
        .build();
    const call = { toolCalls: [{ name: 'none', input: { amount: 5 } }] };
    await agentOf([call, { text: 'Paid' }]).call('Pay 500 to Bob', context);
    const before = (await agentOf([]).state(context))?.toJSON().context;
    const generate: Model['generate'] = async ({ messages }) => {
      convert(messages as unknown as Parameters<Converts>[0]);
      return { content: [{ type: 'text', text: 'ok' }], finishReason: 'stop' };
    };
    await expect(agentOf({ id: 'converting', generate }).call('Bye', context)).rejects.toThrow('read only');
    const after = (await agentOf([]).state(context))?.toJSON().context;
    expect((after as unknown[]).slice(0, (before as unknown[]).length)).toEqual(before);
  });

  it('is not changed by a listener, in a later process neither', async () => {
    const workspace = scratch();
    const session = new InMemorySession();
    const redacts = (event: AgentEvent) => {
      if (event.type !== 'message.added') return;
      for (const block of event.message.content) Object.assign(block, { text: 'redacted', input: {} });
    };
    const agentOf = (script: readonly ScriptEntry[]) =>
      builder(script).workspace(workspace).session(session).onEvent(redacts).build();
    vi.spyOn(process, 'emitWarning').mockReturnValue();
    const call = { toolCalls: [{ name: 'none', input: { amount: 5 } }] };
    await agentOf([call, { text: 'Paid' }]).call('Pay 500 to Bob', context);
    const later = agentOf([{ text: 'Bye' }]);
    for (const message of (await later.state(context))?.context ?? []) {
      expect(message.content.every((block) => !('text' in block) || block.text !== 'redacted')).toBe(true);
      if (message.role === 'user') expect(textOf(message)).toBe('Pay 500 to Bob');
      for (const { input } of toolUsesOf(message)) expect(input).toEqual({ amount: 5 });
    }
    await later.call('Bye', context);
    expect(await said(later)).toEqual(expect.arrayContaining(['Pay 500 to Bob', 'Paid', 'Bye']));
  });
});
