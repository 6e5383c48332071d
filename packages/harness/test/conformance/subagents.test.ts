import { compaction } from '@x/compaction';
import { estimateCounter, SessionKey, textOf } from '@x/core';
import { countRequest } from '@x/core/messages';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { type HarnessAgent, subagents, subagentTasks } from '../../src/index.js';
import { announced, context, parentWith, resultsOf, until } from '../capabilities/subagents/support.js';
import { isPaired } from '../support.js';

const WINDOW = 6_000;
const TASKS = 8;
const owner = SessionKey.of({ userId: 'alice', agentId: 'lead', sessionId: 's-1' });
const spawn = (task: string) => ({ name: 'agent_spawn', input: { agent: 'worker', task, background: true } });

function worker(answer: (task: string) => string, allowed: Promise<unknown> = Promise.resolve()) {
  const model = new ScriptedModel([
    {
      when: () => true,
      times: Number.POSITIVE_INFINITY,
      reply: async ({ messages }) => {
        await allowed;
        return { text: answer(textOf(messages.at(-1) ?? [])) };
      },
    },
  ]);
  return { name: 'worker', description: 'Works', model };
}

async function ended(agent: HarnessAgent, count: number): Promise<void> {
  await until(async () => {
    const tasks = await subagentTasks(agent.session, owner);
    return tasks.filter(({ status }) => status === 'completed').length === count;
  });
}

describe('results of tasks in the background', () => {
  it('are told all at once without filling a small window, each by its id, and are had whole by that', async () => {
    const answer = (task: string) => `${task} found: ${'word '.repeat(3_000)} END OF ${task}`;
    let allow: (value: unknown) => void = () => {};
    const allowed = new Promise((resolve) => {
      allow = resolve;
    });
    const model = new ScriptedModel(
      [
        { toolCalls: Array.from({ length: TASKS }, (_, index) => spawn(`part ${index}`)) },
        { text: 'all begun' },
        { text: 'I have seen them' },
        ({ messages }) => {
          const taskId = /worker-[\da-f]{8}/.exec(messages.map(textOf).join())?.[0] ?? '';
          return { toolCalls: [{ name: 'wait_async_results', input: { taskIds: [taskId], timeoutMs: 0 } }] };
        },
        { text: 'and read one' },
      ],
      { contextWindow: WINDOW, enforceWindow: { counter: estimateCounter } },
    );
    const agent = parentWith(
      model,
      compaction({ model: null, counter: estimateCounter }),
      subagents([worker(answer, allowed)]),
    ).build();
    await agent.call('Find all parts', context);
    allow(undefined);
    await ended(agent, TASKS);
    await agent.call('And?', context);
    const reminder = announced(model.requests[2]?.messages ?? []);
    for (let index = 0; index < TASKS; index++) expect(reminder).toContain(`part ${index} found`);
    expect(estimateCounter.count(reminder)).toBeLessThan(WINDOW / 3);
    await agent.call('Read one', context);
    const [output = ''] = resultsOf(model.requests.at(-1)?.messages ?? [], 'wait_async_results');
    expect(output).toContain('END OF part');
    for (const request of model.requests) {
      expect(countRequest(estimateCounter, request)).toBeLessThanOrEqual(WINDOW);
      expect(isPaired(request.messages)).toBe(true);
    }
    await agent.close();
  });

  it('are remembered up to a limit: the oldest that the model knows the end of go first', async () => {
    const model = new ScriptedModel([
      ...Array.from({ length: 6 }, (_, index) => ({
        toolCalls: [{ name: 'agent_spawn', input: { agent: 'worker', task: `part ${index}` } }],
      })),
      { text: 'done' },
    ]);
    const agent = parentWith(model, subagents([worker((task) => task)], { maxRecords: 3 })).build();
    await agent.call('go', context);
    const tasks = await subagentTasks(agent.session, owner);
    expect(tasks.map(({ task }) => task)).toEqual(['part 3', 'part 4', 'part 5']);
    await agent.close();
  });
});
