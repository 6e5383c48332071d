import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import { taskLine } from '../render-task.js';
import type { Team } from '../team.js';

export function taskListTool(team: Team): Tool {
  return defineTool({
    name: 'task_list',
    description: 'Lists the tasks of subagents in this session, the oldest first.',
    readOnly: true,
    input: z.strictObject({
      status: z.enum(['pending', 'running', 'completed', 'failed', 'cancelled']).optional(),
    }),
    async execute({ status }, { state }) {
      const { owner } = await team.sessionOf(state);
      const records = (await team.desk.list(owner)).filter(
        (record) => status === undefined || record.status === status,
      );
      return records.length === 0 ? 'No tasks.' : records.map(taskLine).join('\n');
    },
  });
}
