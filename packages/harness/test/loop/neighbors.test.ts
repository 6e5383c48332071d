import {
  type AgentEvent,
  type Capability,
  defineTool,
  InMemorySession,
  type Model,
  OutcomeUnknownError,
  RuntimeContext,
  textOf,
  toolResultsOf,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it, onTestFinished, vi } from 'vitest';
import { HarnessAgent } from '../../src/index.js';
import { scratch } from '../support.js';

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
  const MAY_HAVE = 'The call ran and may have taken effect: do not repeat it before you have looked.';
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
