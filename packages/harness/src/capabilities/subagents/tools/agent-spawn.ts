import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import type { Team } from '../team.js';
import { awaitTask } from './await-task.js';
import { waitingInput } from './waiting-input.js';

export function agentSpawnTool(team: Team): Tool {
  return defineTool({
    name: 'agent_spawn',
    description:
      'Gives a task to a new subagent, which has a context window of its own and knows nothing of this conversation, and ' +
      'returns its final answer. Several calls in one step run side by side. One that takes longer than timeoutMs goes on in ' +
      'the background, as one with background does from the start: you are told when it ends.',
    // What a subagent does is held to the permissions and the plan mode of its parent; giving it work changes nothing.
    readOnly: true,
    timeoutMs: 0,
    input: z.strictObject({
      agent: z.string().min(1).describe('Which subagent; they are listed in the system prompt'),
      task: z.string().trim().min(1).describe('All it needs to know, and what to answer with'),
      ...waitingInput(team.settings),
    }),
    async execute({ agent, task, ...waiting }, context) {
      const { subagents } = await team.sessionOf(context.state);
      const subagent = subagents.get(agent);
      if (subagent === undefined) {
        throw new Error(`There is no subagent "${agent}". There are: ${[...subagents.keys()].join(', ')}.`);
      }
      return awaitTask(team, { subagent, message: task }, waiting, context);
    },
  });
}
