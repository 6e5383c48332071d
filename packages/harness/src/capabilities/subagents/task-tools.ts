import { defineTool, type Tool } from '@x/core';
import * as z from 'zod';
import { raiseApprovals } from './agent-tools.js';
import { taskLine, taskReport } from './render-task.js';
import { isEnded, isOpen } from './task-repository.js';
import type { Team } from './team.js';

export function taskListTool(team: Team): Tool {
  return defineTool({
    name: 'task_list',
    description: 'Lists the tasks of subagents in this session, the oldest first.',
    readOnly: true,
    input: z.strictObject({
      status: z.enum(['pending', 'running', 'waiting', 'completed', 'failed', 'cancelled']).optional(),
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
      if (isOpen(record)) return `${taskId} runs in another process, which was asked to stop it.`;
      session.tasks.told([taskId]);
      return wasRunning ? taskReport(record) : `It had ended before.\n${taskReport(record)}`;
    },
  });
}

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
    async execute({ taskIds, timeoutMs }, { state, signal, decisions }) {
      const session = await team.sessionOf(state);
      if (decisions) await team.decide(session, decisions);
      const { owner, tasks } = session;
      for (const taskId of taskIds ?? []) await team.record(session, taskId);
      const wanted =
        taskIds ??
        (await team.desk.list(owner))
          .filter((record) => !isEnded(record) || tasks.open.has(record.taskId))
          .map((record) => record.taskId);
      if (wanted.length === 0) return 'No task is running, and there is no result that you have not had.';
      const records = await team.desk.wait(owner, wanted, { timeoutMs, signal });
      raiseApprovals(records);
      tasks.told(records.filter(isEnded).map((record) => record.taskId));
      return records.map(taskReport).join('\n\n');
    },
  });
}
