import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import { taskReport } from '../render-task.js';
import { isEnded } from '../task-record.js';
import type { Team } from '../team.js';

export function taskOutputTool(team: Team): Tool {
  return defineTool({
    name: 'task_output',
    description:
      "Shows a task's status and, when it has ended, its result; waits for its end if you say how long.",
    readOnly: true,
    timeoutMs: 0,
    input: z.strictObject({
      taskId: z.string().min(1),
      timeoutMs: z.int().min(0).max(team.settings.maxTimeoutMs).default(0).describe('Milliseconds to wait'),
    }),
    async execute({ taskId, timeoutMs }, { state, signal }) {
      const session = await team.sessionOf(state);
      await team.record(session, taskId);
      await team.desk.wait(session.owner, [taskId], { timeoutMs, signal });
      const record = await team.record(session, taskId);
      if (isEnded(record)) session.tasks.told([taskId]);
      return taskReport(record);
    },
  });
}
