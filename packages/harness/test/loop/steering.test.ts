import { compaction } from '@x/compaction';
import {
  assistantMessage,
  defineTool,
  estimateCounter,
  InMemorySession,
  RuntimeContext,
  textOf,
  userMessage,
} from '@x/core';
import { type ScriptEntry, ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { z } from 'zod';
import { HarnessAgent } from '../../src/index.js';
import { isPaired, scratch } from '../support.js';

const context = RuntimeContext.of({ sessionId: 's' });

/** An agent whose tool runs `meanwhile` while it is at work. */
function setUp(script: readonly ScriptEntry[], meanwhile: (agent: HarnessAgent) => unknown = () => {}) {
  const model = new ScriptedModel(script);
  const store = new InMemorySession();
  const work = defineTool({
    name: 'work',
    description: 'Works',
    input: z.object({}),
    async execute() {
      await meanwhile(agent);
      return `done ${'and done '.repeat(50)}`;
    },
  });
  const agent: HarnessAgent = HarnessAgent.builder()
    .model(model)
    .workspace(scratch())
    .session(store)
    .checkpoint('step')
    .tools(work)
    .use(
      compaction({ trigger: { messages: 8 }, keep: { messages: 2 }, model: null, counter: estimateCounter }),
    )
    .build();
  return { model, agent, store };
}

const WORK = { toolCalls: [{ name: 'work', input: {} }] };

async function logged(agent: HarnessAgent): Promise<string[]> {
  const texts: string[] = [];
  for await (const message of agent.log(context).read()) texts.push(textOf(message));
  return texts;
}

describe('steering', () => {
  it('is read at the next step, behind the results of the tools that ran', async () => {
    const seen: Promise<boolean>[] = [];
    const { agent, model } = setUp([WORK, { text: 'blue' }], (agent) => {
      seen.push(agent.steer(context, 'Make it blue'));
    });
    await agent.call('Paint', context);
    expect(await Promise.all(seen)).toEqual([true]);
    const second = model.requests[1]?.messages ?? [];
    expect(second.map((message) => message.role)).toEqual(['user', 'assistant', 'tool', 'user']);
    expect(textOf(second.at(-1) ?? [])).toBe('Make it blue');
    expect((await logged(agent)).filter((text) => text === 'Make it blue')).toHaveLength(1);
  });

  it('runs the calls that come with a message before the model reads the next message', async () => {
    const events: string[] = [];
    const use = { type: 'tool_use', id: 'c-1', name: 'work', input: {} } as const;
    const { agent, model } = setUp([
      async () => {
        void agent
          .steer(context, [userMessage('Look'), assistantMessage([use])])
          .then((read) => events.push(`read: ${read}`));
        void agent.steer(context, 'And then');
        return { text: 'finished' };
      },
      { text: 'that too' },
    ]);
    for await (const { type } of agent.stream('Go', context)) events.push(type);
    const second = model.requests[1]?.messages ?? [];
    expect(second.map(({ role }) => role)).toEqual([
      'user',
      'assistant',
      'user',
      'assistant',
      'tool',
      'user',
    ]);
    expect(JSON.stringify(second[4])).toContain('done and done');
    expect(events.indexOf('read: true')).toBeLessThan(events.indexOf('tool.call'));
  });

  it('is answered before the call ends when it comes during the last answer', async () => {
    const { agent, model } = setUp([
      async () => {
        void agent.steer(context, 'One more thing');
        return { text: 'finished' };
      },
      { text: 'that too' },
    ]);
    const reply = await agent.call('Go', context);
    expect(reply).toMatchObject({ text: 'that too', steps: 2 });
    model.assertComplete();
  });

  it('keeps its order, and its place outside of calls and results, through compactions', async () => {
    let round = 0;
    const rounds = Array.from({ length: 12 }, () => WORK);
    const { agent, model } = setUp([...rounds, { text: 'done' }], (agent) => {
      round++;
      void agent.steer(context, `note ${round} a`);
      void agent.steer(context, `note ${round} b`);
    });
    await agent.call('Go', context);
    expect(model.requests.every((request) => isPaired(request.messages))).toBe(true);
    const notes = (await logged(agent)).filter((text) => text.startsWith('note'));
    expect(notes).toEqual(
      Array.from({ length: 12 }, (_, at) => [`note ${at + 1} a`, `note ${at + 1} b`]).flat(),
    );
    model.assertComplete();
  });

  it('is returned as unseen when no call runs, and when the call is interrupted first', async () => {
    const seen: Promise<boolean>[] = [];
    const { agent } = setUp([WORK], (agent) => {
      seen.push(agent.steer(context, 'Too late'));
      agent.interrupt(context);
    });
    expect(await agent.steer(context, 'Anybody?')).toBe(false);
    expect((await agent.call('Go', context)).stopReason).toBe('interrupted');
    expect(await Promise.all(seen)).toEqual([false]);
    expect(await logged(agent)).not.toContain('Too late');
    expect(await agent.steer(context, 'Anybody?')).toBe(false);
  });

  it('is in the stored state once when the process dies behind the step that took it', async () => {
    const { agent, store } = setUp([WORK, { error: new Error('killed') }], (agent) => {
      void agent.steer(context, 'Make it blue');
    });
    let stored: string[] = [];
    const commit = store.commit.bind(store);
    // What the store holds when the model is called again is what a killed process leaves behind.
    store.commit = async (key, change) => {
      const version = await commit(key, change);
      const messages = (await store.load(key))?.messages ?? [];
      if (stored.length < 4) stored = messages.map((message) => textOf(message));
      return version;
    };
    await expect(agent.call('Paint', context)).rejects.toThrow('killed');
    expect(stored.filter((text) => text === 'Make it blue')).toHaveLength(1);
    expect((await logged(agent)).filter((text) => text === 'Make it blue')).toHaveLength(1);
  });

  it('does not outrun the steps that a call may take', async () => {
    const seen: Promise<boolean>[] = [];
    const model = new ScriptedModel([
      () => {
        seen.push(agent.steer(context, 'More'));
        return { text: 'done' };
      },
    ]);
    const agent = HarnessAgent.builder().model(model).workspace(scratch()).maxIterations(1).build();
    expect((await agent.call('Go', context)).stopReason).toBe('completed');
    expect(await Promise.all(seen)).toEqual([false]);
  });
});
