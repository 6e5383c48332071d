import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import { taskReport } from '../render-task.js';
import { isEnded } from '../task-record.js';
import type { Team } from '../team.js';

export function taskCancelTool(team: Team): Tool {
  return defineTool({
    name: 'task_cancel',
    description:
      'Stops a task, and the tasks that its subagent has given to others. What was done by then stays done, and agent_send ' +
      'can let it go on.',
    readOnly: true,
    input: z.strictObject({ taskId: z.string().min(1) }),
    async execute({ taskId }, { state }) {
      const session = await team.sessionOf(state);
      const wasRunning = await team.cancel(session.owner, await team.record(session, taskId));
      const record = await team.record(session, taskId);
      if (!isEnded(record)) return `${taskId} runs in another process, which was asked to stop it.`;
      session.tasks.told([taskId]);
      return wasRunning ? taskReport(record) : `It had ended before.\n${taskReport(record)}`;
    },
  });
}
