import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import type { Team } from '../team.js';
import { awaitTask } from './await-task.js';
import { waitingInput } from './waiting-input.js';

export function agentSendTool(team: Team): Tool {
  return defineTool({
    name: 'agent_send',
    description:
      'Says something more to a subagent that agent_spawn began and that is not working now: it remembers what it did. Use ' +
      'it for questions about its answer, and to let it go on after a failure.',
    readOnly: true,
    timeoutMs: 0,
    input: z.strictObject({
      agentId: z.string().min(1).describe('The id that agent_spawn returned, as in agent_list'),
      message: z.string().trim().min(1),
      ...waitingInput(team.settings),
    }),
    async execute({ agentId, message, ...waiting }, context) {
      const { subagents, owner } = await team.sessionOf(context.state);
      const known = (await team.desk.list(owner)).findLast((record) => record.agentId === agentId);
      if (known === undefined) {
        throw new Error(
          `There is no subagent "${agentId}" in this session. agent_list shows those there are.`,
        );
      }
      const subagent = subagents.get(known.subagent);
      if (subagent === undefined)
        throw new Error(`The subagent "${known.subagent}" is not defined any more.`);
      return awaitTask(team, { subagent, message, agentId }, waiting, context);
    },
  });
}
