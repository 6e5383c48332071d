import { defineTool, headOf, type Tool } from '@x/core';
import { z } from 'zod';
import { taskLine } from '../render-task.js';
import type { Team } from '../team.js';

const DESCRIPTION_CHARS = 200;

export function agentListTool(team: Team): Tool {
  return defineTool({
    name: 'agent_list',
    description: 'Lists the subagents that you can spawn, and those of this session with their latest task.',
    readOnly: true,
    input: z.strictObject({}),
    async execute(_, { state }) {
      const { subagents, owner } = await team.sessionOf(state);
      const latest = new Map((await team.desk.list(owner)).map((record) => [record.agentId, record]));
      return [
        'To spawn:',
        ...[...subagents.values()].map(
          ({ name, description }) => `- ${name}: ${headOf(description, DESCRIPTION_CHARS)}`,
        ),
        'Of this session:',
        ...(latest.size === 0 ? ['- none'] : [...latest.values()].map((record) => `- ${taskLine(record)}`)),
      ].join('\n');
    },
  });
}
