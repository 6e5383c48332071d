import { ApprovalRequiredError, defineTool, headOf, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { Interruption } from '../../errors/interruption.js';
import { taskLine, taskReport } from './render-task.js';
import { isEnded, isOpen, TASK_STATUSES, type TaskRecord } from './task-records.js';
import type { GivenWork, Team } from './team.js';

const DESCRIPTION_CHARS = 200;

/** Makes the tools by which an agent directs its subagents. */
export function teamTools(team: Team): readonly Tool[] {
  const { timeoutMs, maxTimeoutMs } = team.settings;
  const milliseconds = z.int().min(0).max(maxTimeoutMs);
  const taskId = z.string().min(1);
  /** How long a tool waits for a subagent. */
  const waiting = {
    background: z.boolean().default(false).describe('Return at once'),
    timeoutMs: milliseconds
      .optional()
      .describe(`Milliseconds to wait for the answer; ${timeoutMs} unless given`),
  };
  return [
    defineTool({
      name: 'agent_spawn',
      description:
        'Gives a task to a new subagent, which has a context window of its own and knows nothing of this conversation, and ' +
        'returns its final answer. Several calls in one step run side by side. One that takes longer than timeoutMs goes on in ' +
        'the background, as one with background does from the start: you are told when it ends.',
      // Giving work changes nothing by itself: the parent's permissions and plan mode hold for each call of the subagent.
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        agent: z.string().min(1).describe('Which subagent; they are listed in the system prompt'),
        task: z.string().trim().min(1).describe('All it needs to know, and what to answer with'),
        ...waiting,
      }),
      async execute({ agent, task, ...given }, context) {
        const { subagents } = await team.sessionOf(context.state);
        const subagent = subagents.get(agent);
        if (subagent === undefined) {
          throw new Error(`There is no subagent "${agent}". There are: ${[...subagents.keys()].join(', ')}.`);
        }
        return awaitTask(team, { subagent, message: task }, given, context);
      },
    }),
    defineTool({
      name: 'agent_send',
      description:
        'Says something more to a subagent that agent_spawn began and that is not working now: it remembers what it did. Use ' +
        'it for questions about its answer, and to let it go on after a failure.',
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({
        agentId: z.string().min(1).describe('The id that agent_spawn returned, as in agent_list'),
        message: z.string().trim().min(1),
        ...waiting,
      }),
      async execute({ agentId, message, ...given }, context) {
        const { subagents, owner } = await team.sessionOf(context.state);
        const known = (await team.runs.list(owner)).findLast((record) => record.agentId === agentId);
        if (known === undefined) {
          throw new Error(
            `There is no subagent "${agentId}" in this session. agent_list shows those there are.`,
          );
        }
        const subagent = subagents.get(known.subagent);
        if (subagent === undefined)
          throw new Error(`The subagent "${known.subagent}" is not defined any more.`);
        return awaitTask(team, { subagent, message, agentId }, given, context);
      },
    }),
    defineTool({
      name: 'agent_list',
      description:
        'Lists the subagents that you can spawn, and those of this session with their latest task.',
      readOnly: true,
      input: z.strictObject({}),
      async execute(_, { state }) {
        const { subagents, owner } = await team.sessionOf(state);
        const latest = new Map((await team.runs.list(owner)).map((record) => [record.agentId, record]));
        return [
          'To spawn:',
          ...[...subagents.values()].map(
            ({ name, description }) => `- ${name}: ${headOf(description, DESCRIPTION_CHARS)}`,
          ),
          'Of this session:',
          ...(latest.size === 0 ? ['- none'] : [...latest.values()].map((record) => `- ${taskLine(record)}`)),
        ].join('\n');
      },
    }),
    defineTool({
      name: 'task_output',
      description:
        "Shows a task's status and, when it has ended, its result; waits for its end if you say how long.",
      readOnly: true,
      timeoutMs: 0,
      input: z.strictObject({ taskId, timeoutMs: milliseconds.default(0).describe('Milliseconds to wait') }),
      async execute({ taskId, ...wait }, { state, signal }) {
        const session = await team.sessionOf(state);
        await team.runs.record(session.owner, taskId);
        await team.runs.wait(session.owner, [taskId], { ...wait, signal });
        const record = await team.runs.record(session.owner, taskId);
        if (isEnded(record)) session.told([taskId]);
        return taskReport(record);
      },
    }),
    defineTool({
      name: 'task_list',
      description: 'Lists the tasks of subagents in this session, the oldest first.',
      readOnly: true,
      input: z.strictObject({ status: z.enum(TASK_STATUSES).optional() }),
      async execute({ status }, { state }) {
        const { owner } = await team.sessionOf(state);
        const records = await team.runs.list(owner);
        const lines = records.filter((record) => record.status === (status ?? record.status)).map(taskLine);
        return lines.join('\n') || 'No tasks.';
      },
    }),
    defineTool({
      name: 'task_cancel',
      description:
        'Stops a task, and the tasks that its subagent has given to others. What was done by then stays done, and agent_send ' +
        'can let it go on.',
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
    defineTool({
      name: 'wait_async_results',
      description:
        'Waits until tasks in the background have ended, and returns their results: all that are running, or those you name.',
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
  ];
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

interface Waiting {
  readonly background?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Gives work and waits for its end. Longer work goes on in the background. An interruption of the wait interrupts the work,
 * unless the agent as a whole is shutting down: then the task is recorded as one that can be resumed.
 */
async function awaitTask(
  team: Team,
  work: GivenWork,
  given: Waiting,
  { state, signal, decisions }: ToolContext,
): Promise<string> {
  const { runs, settings } = team;
  const session = await team.sessionOf(state);
  const { owner } = session;
  const [taskId = ''] = decisions ? await team.decide(session, decisions) : [await team.begin(session, work)];
  const timeoutMs = given.background
    ? 0
    : Math.min(given.timeoutMs ?? settings.timeoutMs, settings.maxTimeoutMs);
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
