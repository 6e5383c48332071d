import { type AgentState, ApprovalRequiredError, defineTool, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { Interruption } from '../../errors/interruption.js';
import { taskReport } from './render-task.js';
import { isEnded, isOpen, type TaskRecord } from './task-records.js';
import type { GivenWork, Team } from './team.js';

/** Makes the tools by which an agent directs its subagents. */
export function teamTools(team: Team): readonly Tool[] {
  const { timeoutMs, maxTimeoutMs } = team.settings;
  const milliseconds = z.int().min(0).max(maxTimeoutMs);
  const taskId = z.string().min(1);
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
          .describe(
            'Which subagent: a name in the system prompt, or the id of one that has worked, to go on with it',
          ),
        task: z.string().trim().min(1).describe('All it needs to know, and what to answer with'),
        background: z.boolean().default(false).describe('Return at once'),
        timeoutMs: milliseconds
          .default(Math.min(timeoutMs, maxTimeoutMs))
          .describe('Milliseconds to wait for the answer'),
      }),
      async execute({ agent, task, ...given }, context) {
        return awaitTask(team, await workFor(team, context.state, agent, task), given, context);
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
        timeoutMs: milliseconds.default(timeoutMs).describe('Milliseconds to wait'),
      }),
      async execute({ taskIds, ...wait }, { state, signal, decisions }) {
        const session = await team.sessionOf(state);
        const { owner, untold } = session;
        if (decisions) await team.decide(session, decisions);
        for (const id of taskIds ?? []) await team.runs.record(owner, id);
        const open = (await team.runs.list(owner)).filter(
          (record) => !isEnded(record) || untold.has(record.taskId),
        );
        const wanted = taskIds ?? open.map((record) => record.taskId);
        if (wanted.length === 0) return 'No task is running, and there is no result that you have not had.';
        const records = await team.runs.wait(owner, wanted, { ...wait, signal });
        raiseApprovals(records);
        session.told(records.filter(isEnded).map((record) => record.taskId));
        return records.map(taskReport).join('\n\n');
      },
    }),
    defineTool({
      name: 'task_cancel',
      description:
        'Stops a task, and the tasks that its subagent has given to others. What was done by then stays done, and agent_spawn ' +
        'with its id can let the subagent go on.',
      readOnly: true,
      input: z.strictObject({ taskId }),
      async execute({ taskId }, { state }) {
        const session = await team.sessionOf(state);
        const { owner } = session;
        const wasRunning = await team.runs.cancel(owner, await team.runs.record(owner, taskId));
        const record = await team.runs.record(owner, taskId);
        if (isOpen(record)) return `${taskId} runs in another process, which was asked to stop it.`;
        session.told([taskId]);
        return wasRunning ? taskReport(record) : `It had ended before.\n${taskReport(record)}`;
      },
    }),
  ];
}

/** @throws {Error} when there is no subagent of this name, and none of this id has worked. */
async function workFor(team: Team, state: AgentState, agent: string, message: string): Promise<GivenWork> {
  const { subagents, owner } = await team.sessionOf(state);
  const named = subagents.get(agent);
  if (named !== undefined) return { subagent: named, message };
  const known = (await team.runs.list(owner)).findLast((record) => record.agentId === agent);
  const subagent = subagents.get(known?.subagent ?? '');
  if (known !== undefined && subagent !== undefined) return { subagent, message, agentId: agent };
  const missing = known?.subagent ?? agent;
  throw new Error(`There is no subagent "${missing}". There are: ${[...subagents.keys()].join(', ')}.`);
}

/** @throws {ApprovalRequiredError} when one of these tasks waits for approval: the tool call waits with it. */
function raiseApprovals(records: readonly TaskRecord[]): void {
  const waiting = records.filter(({ status }) => status === 'waiting');
  const calls = waiting.flatMap(({ agentId, waitsFor = [] }) =>
    waitsFor.map((call) => ({
      ...call,
      agentId: call.agentId === undefined ? agentId : `${agentId}/${call.agentId}`,
    })),
  );
  if (calls.length > 0) throw new ApprovalRequiredError(calls);
}

/**
 * Gives work and waits for its end. Longer work goes on in the background. An interruption of the wait interrupts the work,
 * unless the agent as a whole is shutting down: then the task is recorded as one that can be resumed.
 */
async function awaitTask(
  team: Team,
  work: GivenWork,
  given: { readonly background: boolean; readonly timeoutMs: number },
  { state, signal, decisions }: ToolContext,
): Promise<string> {
  const { runs } = team;
  const session = await team.sessionOf(state);
  const { owner } = session;
  const [taskId = ''] = decisions ? await team.decide(session, decisions) : [await team.begin(session, work)];
  const timeoutMs = given.background ? 0 : given.timeoutMs;
  try {
    if (timeoutMs > 0) await runs.wait(owner, [taskId], { timeoutMs, signal });
  } catch (error) {
    const isShutdown = signal.reason instanceof Interruption && signal.reason.kind === 'shutdown';
    if (signal.aborted && !isShutdown) await runs.cancel(owner, await runs.record(owner, taskId));
    throw error;
  }
  const record = await runs.record(owner, taskId);
  raiseApprovals([record]);
  if (isEnded(record)) session.told([taskId]);
  if (record.status === 'failed') throw new Error(taskReport(record));
  return taskReport(record);
}
