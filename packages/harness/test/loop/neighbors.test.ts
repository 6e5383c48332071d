import { type AgentEvent, type Capability, InMemorySession, type Model, RuntimeContext } from '@x/core';
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
