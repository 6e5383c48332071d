import { SessionKey } from '@x/core';
import { JsonSession } from '@x/core/node';
import { ScriptedModel } from '@x/testkit';
import { describe, expect, it } from 'vitest';
import { subagents, subagentTasks } from '../../../src/index.js';
import { scratch } from '../../support.js';
import { context, held, parentWith, resultsOf, until } from './support.js';

const spawn = (agent: string, background: boolean) => ({
  toolCalls: [{ name: 'agent_spawn', input: { agent, task: 'Work', background } }],
});
const taskIdIn = (text = '') => /\[(\w+-\w+): /.exec(text)?.[1] ?? '';

/** A lead, whose middle gives a task in the background to a leaf that works until it is told to end. */
function threeLevels({ middleGoesOn, waits = false }: { middleGoesOn: boolean; waits?: boolean }) {
  const root = scratch();
  const session = new JsonSession({ directory: `${root}/json` });
  const [leafWork, middleWork] = [held(), held()];
  const changes: string[] = [];
  const leaf = new ScriptedModel([leafWork.reply]);
  const middle = new ScriptedModel([
    spawn('leaf', true),
    async () => {
      await leafWork.started;
      return middleGoesOn ? middleWork.reply() : { text: 'left it running' };
    },
  ]);
  const lead = new ScriptedModel([
    spawn('middle', !waits),
    async ({ messages }) => {
      await (middleGoesOn ? middleWork.started : until(() => changes.includes('middle completed')));
      return {
        toolCalls: [
          { name: 'task_cancel', input: { taskId: taskIdIn(resultsOf(messages, 'agent_spawn')[0]) } },
        ],
      };
    },
    { text: 'ok' },
  ]);
  const agent = parentWith(
    lead,
    subagents([
      { name: 'middle', description: 'Leads', model: middle },
      { name: 'leaf', description: 'Works', model: leaf },
    ]),
  )
    .workspace(root)
    .session(session)
    .onEvent((event) => event.type === 'task.changed' && changes.push(`${event.subagent} ${event.status}`))
    .build();
  const tasksOf = (agentId: string, sessionId: string) =>
    subagentTasks(session, SessionKey.of({ userId: 'alice', agentId, sessionId }));
  const statuses = async () => {
    const [task] = await tasksOf('lead', 's-1');
    const below = await tasksOf('lead/middle', `s-1/${task?.taskId}`);
    return [task?.status, ...below.map(({ status }) => status)];
  };
  return { agent, lead, statuses, begun: middleWork.started };
}

describe('cancelling a task', () => {
  it('stops the tasks in the background that its subagent has begun', async () => {
    const { agent, lead, statuses } = threeLevels({ middleGoesOn: true });
    await agent.call('go', context);
    expect(resultsOf(lead.requests[2]?.messages ?? [], 'task_cancel')[0]).toContain('cancelled');
    expect(await statuses()).toEqual(['cancelled', 'cancelled']);
    await agent.close();
  });

  it('stops what a subagent that had ended has left running', async () => {
    const { agent, lead, statuses } = threeLevels({ middleGoesOn: false });
    await agent.call('go', context);
    expect(resultsOf(lead.requests[2]?.messages ?? [], 'task_cancel')[0]).toContain('had already ended');
    expect(await statuses()).toEqual(['completed', 'cancelled']);
    await agent.close();
  });

  it('happens to all below when its parent, which waits for it, is interrupted', async () => {
    const { agent, statuses, begun } = threeLevels({ middleGoesOn: true, waits: true });
    const calling = agent.call('go', context);
    await begun;
    expect(agent.interrupt(context)).toBe(true);
    expect((await calling).stopReason).toBe('interrupted');
    await until(async () => (await statuses())[0] === 'cancelled');
    expect(await statuses()).toEqual(['cancelled', 'cancelled']);
    await agent.close();
  });
});
