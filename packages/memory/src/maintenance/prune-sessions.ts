import type { Workspace } from '@x/core';
import { isFlushed } from '../flush/flush-manager.js';
import { LOG_SUFFIX, placeOfLog, type SessionPlace } from '../memory-scope.js';

const DAY_MS = 86_400_000;

/** A session log, as a listing shows it. */
export interface LogEntry {
  readonly place: SessionPlace;
  readonly size: number;
  /** Milliseconds since 1970. */
  readonly modifiedAt: number;
}

/** The session logs of a place. */
export async function listLogs(workspace: Workspace, prefix: string): Promise<LogEntry[]> {
  const folder = `${prefix}sessions/`;
  const logs: LogEntry[] = [];
  for await (const { path, type, size, modifiedAt } of workspace.list(`${prefix}sessions`)) {
    if (type !== 'file' || !path.endsWith(LOG_SUFFIX)) continue;
    const place = placeOfLog(prefix, path.slice(folder.length, -LOG_SUFFIX.length));
    logs.push({ place, size, modifiedAt: Date.parse(modifiedAt) });
  }
  return logs;
}

/**
 * Deletes the logs of sessions in which nothing was said for `days`, and what was noted of their flushes.
 *
 * @param onlyFlushed Keep those that hold messages which were not flushed.
 * @returns How many logs were deleted.
 */
export async function pruneSessions(
  workspace: Workspace,
  prefix: string,
  { now, days, onlyFlushed }: { readonly now: number; readonly days: number; readonly onlyFlushed: boolean },
): Promise<number> {
  if (days === 0) return 0;
  let pruned = 0;
  for (const { place, size, modifiedAt } of await listLogs(workspace, prefix)) {
    if (modifiedAt >= now - days * DAY_MS) continue;
    if (onlyFlushed && !(await isFlushed(workspace, place, size))) continue;
    await workspace.delete(place.flushState);
    if (await workspace.delete(place.log)) pruned++;
  }
  return pruned;
}
