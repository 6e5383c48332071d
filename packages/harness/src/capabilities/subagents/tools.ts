import { ApprovalRequiredError, defineTool, escapeTags, headOf, type Tool } from '@x/core';
import * as z from 'zod';
import { Interruption } from '../../errors/interruption.js';
import { type GivenTask, givenTasks, isEnded, isOpen, type SubagentTask, type Tasks } from './tasks.js';
import type { Team, TeamCall } from './team.js';

/** The most milliseconds that the model may have a tool wait. */
const MOST_MS = 600_000;

/** Makes the tools by which an agent directs its subagents. */
export function teamTools(team: Team): readonly Tool[] {
  const milliseconds = z.int().min(0).max(MOST_MS).default(Math.min(team.settings.timeoutMs, MOST_MS));
  const taskId = z.string().min(1).describe('The id that agent_spawn answered');

  /** Waits for tasks to end. Longer work goes on in the background. */
  async function collect(call: TeamCall, tasks: readonly GivenTask[], wait: Parameters<Tasks['wait']>[2]) {
    const found = await team.tasks.wait(call.owner, tasks, wait);
    raiseApprovals(found);
    team.told(call, found.filter(isEnded));
    return found;
  }

  return [
    defineTool({
      name: 'agent_spawn',
      description:
        'Gives a task to a new subagent, which has a context window of its own and knows nothing of this conversation, and ' +
        'returns its final answer; or says something more to one that is not working now and remembers what it did. Several ' +
        'calls in one step run side by side. One that takes longer than timeoutMs goes on in the background, as one with ' +
        'background does from the start: you are told when it ends.',
      // Giving work changes nothing by itself: the parent's permissions and plan mode hold for each call of the subagent.
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        agent: z
          .string()
          .min(1)
          .describe('A name in the system prompt, or the id of one that has worked, to go on'),
        task: z.string().trim().min(1).describe('All it needs to know, and what to answer with'),
        background: z.boolean().default(false).describe('Return at once'),
        timeoutMs: milliseconds.describe('Milliseconds to wait for the answer'),
      }),
      async execute({ agent, task, background, timeoutMs }, { state, signal, decisions }) {
        const call = await team.callOf(state);
        const given = decisions ? await team.decide(call, decisions) : [await team.begin(call, agent, task)];
        try {
          const found = await collect(call, given, { timeoutMs: background ? 0 : timeoutMs, signal });
          const report = found.map(taskReport).join('\n');
          if (found.some(({ status }) => status === 'failed')) throw new Error(report);
          return report;
        } catch (error) {
          // An interruption of the wait interrupts the work. After a shutdown of the agent it can be resumed.
          const isShutdown = signal.reason instanceof Interruption && signal.reason.kind === 'shutdown';
          if (signal.aborted && !isShutdown) {
            for (const each of given) await team.tasks.cancel(call.owner, each);
          }
          throw error;
        }
      },
    }),
    defineTool({
      name: 'wait_async_results',
      description:
        'Waits until tasks in the background have ended, and returns their results: all that are running, or those you name, ' +
        'whose results are shown again. With timeoutMs 0 it only looks.',
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        taskIds: z.array(taskId).min(1).optional(),
        timeoutMs: milliseconds.describe('Milliseconds to wait'),
      }),
      async execute({ taskIds, timeoutMs }, { state, signal, decisions }) {
        const call = await team.callOf(state);
        if (decisions) await team.decide(call, decisions);
        const wanted = taskIds?.map((id) => taskOf(call, id)) ?? (await team.news(call));
        if (wanted.length === 0) return 'No task is running, and there is no result that you have not had.';
        return (await collect(call, wanted, { timeoutMs, signal })).map(taskReport).join('\n\n');
      },
    }),
    defineTool({
      name: 'task_cancel',
      description:
        'Stops a task, and the tasks that its subagent has given to others. What was done by then stays done, and agent_spawn ' +
        'with its id can let the subagent go on.',
      readOnly: true,
      input: z.strictObject({ taskId }),
      async execute({ taskId: id }, { state }) {
        const call = await team.callOf(state);
        const given = taskOf(call, id);
        const wasRunning = await team.tasks.cancel(call.owner, given);
        const found = await team.tasks.look(call.owner, [given]);
        if (found.some(isOpen)) return `${id} runs in another process, which was asked to stop it.`;
        team.told(call, found);
        return `${wasRunning ? '' : 'It had ended before.\n'}${found.map(taskReport).join('\n')}`;
      },
    }),
  ];
}
/** @throws {Error} when the session has given no such task. */
function taskOf({ scope }: TeamCall, taskId: string): GivenTask {
  const tasks = givenTasks(scope.state);
  const task = tasks.find((candidate) => candidate.taskId === taskId);
  if (task !== undefined) return task;
  const known = tasks.map((each) => each.taskId).join(', ') || 'none';
  throw new Error(`There is no task "${taskId}" in this session. There are: ${known}.`);
}

/** @throws {ApprovalRequiredError} when one of these tasks waits for approval: the tool call waits with it. */
function raiseApprovals(tasks: readonly SubagentTask[]): void {
  const calls = tasks.flatMap(({ taskId, status, waitsFor = [] }) =>
    status !== 'waiting'
      ? []
      : waitsFor.map((call) => ({ ...call, agentId: [taskId, call.agentId].filter(Boolean).join('/') })),
  );
  if (calls.length > 0) throw new ApprovalRequiredError(calls);
}

/** Characters of each result in a reminder: it names results, tools hand them out. */
const REMINDER_CHARS = 1_500;
/** Characters of all results together: no compaction could make room for a reminder. Each keeps a few words at least. */
const REMINDERS_CHARS = 6_000;
const FEWEST_CHARS = 100;

/** A task with its result, as a tool hands it out. */
function taskReport(task: SubagentTask): string {
  const { taskId, status, result = '', error = '', waitsFor = [] } = task;
  const names = waitsFor.map(({ name }) => name).join(', ');
  const hint = isOpen(task)
    ? 'It goes on in the background; you will be told when it ends. wait_async_results waits for it.'
    : `It waits for the user's approval of ${names}. wait_async_results asks the user.`;
  return [`[${taskId}: ${status}]`, error, result, isEnded(task) ? '' : hint].filter(Boolean).join('\n');
}

/** Words the reminder that tasks have ended; what they give back is quoted, since it may be somebody else's words. */
export function tasksReminder(tasks: readonly SubagentTask[]): string {
  const chars = Math.max(FEWEST_CHARS, Math.min(REMINDER_CHARS, Math.floor(REMINDERS_CHARS / tasks.length)));
  const reports = tasks.map((task) => {
    const { result = '', taskId } = task;
    if (result.length <= chars) return taskReport(task);
    const cut = `${headOf(result, chars)}\n[cut here; wait_async_results shows ${taskId} whole]`;
    return taskReport({ ...task, result: cut });
  });
  return [
    '<finished_tasks>',
    'These tasks of subagents have ended, or wait for approval. You are told once; wait_async_results shows a result again.',
    escapeTags(reports.join('\n'), 'finished_tasks'),
    '</finished_tasks>',
  ].join('\n');
}
