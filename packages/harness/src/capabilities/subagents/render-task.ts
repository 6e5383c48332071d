import { headOf } from '@x/core';
import type { TaskRecord } from './task-records.js';

/** Characters of each result in a reminder: it names results, tools hand them out. */
const REMINDER_CHARS = 1_500;
/** Characters of all results together: no compaction could make room for a reminder. Each keeps a few words at least. */
const REMINDERS_CHARS = 6_000;
const FEWEST_CHARS = 100;

/** A task with its result, as a tool hands it out. */
export function taskReport(record: TaskRecord): string {
  const { taskId, agentId, status, result, resultPath, error } = record;
  const lines = [`[${taskId} of ${agentId}: ${status}]`];
  if (error !== undefined) lines.push(error);
  if (result !== undefined && result !== '') lines.push(result);
  if (resultPath !== undefined)
    lines.push(`[cut here; the whole result is in ${resultPath}: read_file pages it]`);
  if (status === 'running' || status === 'pending') {
    lines.push(
      'It goes on in the background; you will be told when it ends. wait_async_results waits for it.',
    );
  }
  if (status === 'waiting') {
    const names = record.waitsFor?.map(({ name }) => name).join(', ');
    lines.push(`It waits for the user's approval of ${names}. wait_async_results asks the user.`);
  }
  return lines.join('\n');
}

/** Words the reminder that tasks have ended. */
export function tasksReminder(records: readonly TaskRecord[]): string {
  const share = Math.max(FEWEST_CHARS, Math.floor(REMINDERS_CHARS / records.length));
  const chars = Math.min(REMINDER_CHARS, share);
  const reports = records.map((record) => {
    const { result = '', taskId } = record;
    if (result.length <= chars) return taskReport(record);
    const cut = `${headOf(result, chars)}\n[cut here; wait_async_results shows ${taskId} whole]`;
    return taskReport({ ...record, result: cut, resultPath: undefined });
  });
  return [
    '<finished_tasks>',
    'These tasks of subagents have ended, or wait for approval. You are told once; wait_async_results shows a result again.',
    ...reports,
    '</finished_tasks>',
  ].join('\n');
}
