import { compaction } from '@x/compaction';
import { defineTool, type Message, type ModelRequest, RuntimeContext, textOf } from '@x/core';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent, InMemorySessionStore } from '../src/index.js';
import { scratch } from './support.js';

const filler = (about: string) => `${about} is fine. `.repeat(120);
const look = defineTool({
  name: 'look_up',
  description: 'Looks something up.',
  readOnly: true,
  input: z.object({ what: z.string() }),
  execute: ({ what }) =>
    what === 'sofa' ? `The velvet sofa costs 8713 crowns.\n${filler('Velvet')}` : filler(what),
});
const call = (name: string, input: Record<string, string>) => ({ toolCalls: [{ name, input }] });

/** An agent whose model asks about many things, one of them the sofa, until its window is nearly full. */
function agentOf(model: ScriptedModel, options: Parameters<typeof compaction>[0] = {}) {
  return HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .tools(look)
    .use(compaction({ model: null,  summary: { record: 0.05 }, ...options  }))
    .build();
}

const things = ['sofa', ...Array.from({ length: 14 }, (_, index) => `lamp${index}`)];
const script = [...things.map((what) => call('look_up', { what })), { text: 'All looked up.' }];
const reminderIn = (request: ModelRequest | undefined) =>
  request?.messages.find(({ id }) => id === 'recall-reminder');
const resultOf = (message: Message | undefined) => (message ? textOf(message) : '');
const session = (sessionId: string) => RuntimeContext.of({ sessionId });

describe('recall in an agent', () => {
  it('reminds of what was removed and fits a new request, in that request alone', async () => {
    const model = new ScriptedModel(
      [...script, call('look_up', { what: 'rug' }), { text: '8713 crowns.' }],
      { contextWindow: 6_000 },
    );
    const agent = agentOf(model);
    await agent.call('Look all of them up.', session('s'));
    await agent.call('What did the velvet sofa cost?', session('s'));
    const [first, second] = model.requests.slice(-2);
    const reminder = reminderIn(first);
    expect(resultOf(reminder)).toContain('| The velvet sofa costs 8713 crowns.');
    expect(resultOf(reminder)).toMatch(/r3, result of look_up:/);
    expect(first?.messages.at(-1)).toBe(reminder);
    expect(reminderIn(second)).toBeUndefined();
    // Behind everything: what a provider has cached stays as it was.
    expect(second?.messages.slice(0, first?.messages.length).slice(0, -1)).toEqual(first?.messages.slice(0, -1));
    const state = JSON.stringify((await agent.getState?.(session('s'))) ?? '');
    expect(state).not.toContain('recall-reminder');
    await agent.close();
  });
});
