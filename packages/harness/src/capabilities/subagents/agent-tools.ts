import { ApprovalRequiredError, defineTool, headOf, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { Interruption } from '../../errors/interruption.js';
import { taskLine, taskReport } from './render-task.js';
import type { SubagentsSettings } from './subagents-config.js';
import { isEnded, type TaskRecord } from './task-repository.js';
import type { GivenWork, Team } from './team.js';

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

export function agentSpawnTool(team: Team): Tool {
  return defineTool({
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
      ...waitingInput(team.settings),
    }),
    async execute({ agent, task, ...waiting }, context) {
      const { subagents } = await team.sessionOf(context.state);
      const subagent = subagents.get(agent);
      if (subagent === undefined) {
        throw new Error(`There is no subagent "${agent}". There are: ${[...subagents.keys()].join(', ')}.`);
      }
      return awaitTask(team, { subagent, message: task }, waiting, context);
    },
  });
}

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

/** Makes the inputs by which the model says how long a tool waits for a subagent. */
function waitingInput({ timeoutMs, maxTimeoutMs }: SubagentsSettings) {
  return {
    background: z.boolean().default(false).describe('Return at once'),
    timeoutMs: z
      .int()
      .min(0)
      .max(maxTimeoutMs)
      .optional()
      .describe(`Milliseconds to wait for the answer; ${timeoutMs} unless given`),
  };
}

/** @throws {ApprovalRequiredError} when one of these tasks waits for approval: the tool call waits with it. */
export function raiseApprovals(records: readonly TaskRecord[]): void {
  const calls = records.flatMap(({ status, agentId, waitsFor = [] }) =>
    status === 'waiting'
      ? waitsFor.map((call) => ({
          ...call,
          agentId: call.agentId === undefined ? agentId : `${agentId}/${call.agentId}`,
        }))
      : [],
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
  waiting: Waiting,
  { state, signal, decisions }: ToolContext,
): Promise<string> {
  const session = await team.sessionOf(state);
  const [taskId = ''] = decisions ? await team.decide(session, decisions) : [await team.begin(session, work)];
  const timeoutMs = waiting.background
    ? 0
    : Math.min(waiting.timeoutMs ?? team.settings.timeoutMs, team.settings.maxTimeoutMs);
  try {
    if (timeoutMs > 0) await team.desk.wait(session.owner, [taskId], { timeoutMs, signal });
  } catch (error) {
    const isShutdown = signal.reason instanceof Interruption && signal.reason.kind === 'shutdown';
    if (signal.aborted && !isShutdown) await team.desk.cancel(session.owner, taskId);
    throw error;
  }
  const record = await team.record(session, taskId);
  raiseApprovals([record]);
  if (isEnded(record)) session.tasks.told([taskId]);
  if (record.status === 'failed') throw new Error(taskReport(record));
  return taskReport(record);
}
