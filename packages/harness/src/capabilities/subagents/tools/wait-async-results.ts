import { defineTool, type Tool } from '@x/core';
import { z } from 'zod';
import { taskReport } from '../render-task.js';
import { isEnded } from '../task-record.js';
import type { Team } from '../team.js';

export function waitAsyncResultsTool(team: Team): Tool {
  const { timeoutMs, maxTimeoutMs } = team.settings;
  return defineTool({
    name: 'wait_async_results',
    description:
      'Waits until tasks in the background have ended, and returns their results: all that are running, or those you name.',
    readOnly: true,
    timeoutMs: 0,
    input: z.strictObject({
      taskIds: z.array(z.string().min(1)).min(1).optional(),
      timeoutMs: z.int().min(0).max(maxTimeoutMs).default(timeoutMs).describe('Milliseconds to wait'),
    }),
    async execute({ taskIds, timeoutMs }, { state, signal }) {
      const session = await team.sessionOf(state);
      const { owner, tasks } = session;
      for (const taskId of taskIds ?? []) await team.record(session, taskId);
      const wanted =
        taskIds ??
        (await team.desk.list(owner))
          .filter((record) => !isEnded(record) || tasks.open.has(record.taskId))
          .map((record) => record.taskId);
      if (wanted.length === 0) return 'No task is running, and there is no result that you have not had.';
      const records = await team.desk.wait(owner, wanted, { timeoutMs, signal });
      tasks.told(records.filter(isEnded).map((record) => record.taskId));
      return records.map(taskReport).join('\n\n');
    },
  });
}
