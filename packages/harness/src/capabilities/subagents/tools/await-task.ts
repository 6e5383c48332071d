import type { ToolContext } from '@x/core';
import { Interruption } from '../../../errors/interruption.js';
import { taskReport } from '../render-task.js';
import { isEnded } from '../task-record.js';
import type { GivenWork, Team } from '../team.js';

export interface Waiting {
  readonly background?: boolean | undefined;
  readonly timeoutMs?: number | undefined;
}

/**
 * Gives work and waits for its end; what takes longer goes on in the background. Whoever interrupts the wait interrupts the
 * work, unless the agent as a whole is shutting down: then the task is recorded as one that can be gone on with.
 */
export async function awaitTask(
  team: Team,
  work: GivenWork,
  waiting: Waiting,
  { state, signal }: ToolContext,
): Promise<string> {
  const session = await team.sessionOf(state);
  const taskId = await team.begin(session, work);
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
  if (isEnded(record)) session.tasks.told([taskId]);
  if (record.status === 'failed') throw new Error(taskReport(record));
  return taskReport(record);
}
