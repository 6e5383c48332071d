import type { Workspace } from '@x/core';
import { readState } from '../consolidate/memory-state.js';
import { dailyNotes, isMerged } from '../consolidate/new-notes.js';
import { isFlushed } from '../flush/flush-state.js';
import { readIfFound } from '../memory-files.js';
import { type LogEntry, sessionLogs } from '../session-logs.js';

const DAY_MS = 86_400_000;

/**
 * Moves daily notes older than `days` to `memory/archive/`, where they can still be read and searched. A note that says
 * something that was not merged yet stays until it is.
 *
 * @returns How many were moved.
 */
export async function archiveNotes(
  workspace: Workspace,
  prefix: string,
  { now, days }: { readonly now: number; readonly days: number },
): Promise<number> {
  if (days === 0) return 0;
  const { notes, pending } = await readState(workspace, prefix);
  if (pending !== undefined) return 0;
  let moved = 0;
  for (const name of await dailyNotes(workspace, prefix)) {
    if (Date.parse(name.slice(0, -'.md'.length)) > now - days * DAY_MS) continue;
    const path = `${prefix}memory/${name}`;
    const bytes = await workspace.read(path);
    if (!isMerged(bytes, notes[name])) continue;
    await keep(workspace, `${prefix}memory/archive/${name}`, Buffer.from(bytes).toString('utf8'));
    // Somebody may have added to it meanwhile: then it stays, and is archived with the rest the next time.
    if ((await workspace.stat(path))?.size !== bytes.length) continue;
    if (await workspace.delete(path)) moved++;
  }
  return moved;
}

/** Writes a note to the archive; behind what an earlier note of that day has left there, unless it is there already. */
async function keep(workspace: Workspace, path: string, text: string): Promise<void> {
  const archived = await readIfFound(workspace, path);
  if (archived === undefined || text.startsWith(archived)) await workspace.write(path, text);
  else if (!archived.endsWith(text)) await workspace.write(path, `${archived}${text}`);
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
  const old: LogEntry[] = [];
  for await (const log of sessionLogs(workspace, prefix)) {
    if (Date.parse(log.modifiedAt) < now - days * DAY_MS) old.push(log);
  }
  let pruned = 0;
  for (const { place, size } of old) {
    if (onlyFlushed && !(await isFlushed(workspace, place, size))) continue;
    await workspace.delete(place.flushState);
    if (await workspace.delete(place.log)) pruned++;
  }
  return pruned;
}
