import type { Workspace } from '@x/core';
import { errorText } from '@x/core/internal';
import type { AskOptions } from './ask-model.js';
import { consolidateNotes } from './consolidate/consolidate-notes.js';
import { dailyNotes, isMerged } from './consolidate/new-notes.js';
import { unlessLocked } from './exclusively.js';
import { readProgress, readState } from './facts/memory-state.js';
import { flushSession } from './flush/flush-session.js';
import { nextBatch } from './flush/log-batches.js';
import { appendLines, readIfFound, unreadPrefix } from './memory-files.js';
import { isCommon } from './memory-scope.js';
import { sessionLogs } from './session-logs.js';
import type { MemoryServiceSettings } from './settings.js';

const NOTHING = {
  /** Number of maintained directories. Each belongs to a tenant, user or agent. */
  scopes: 0,
  /** Number of flushed sessions. */
  flushed: 0,
  /** Number of directories whose notes were merged into MEMORY.md. */
  consolidated: 0,
  /** Number of deleted session logs. */
  pruned: 0,
};

/** The result of a maintenance run. */
export interface MaintenanceReport extends Readonly<typeof NOTHING> {
  /** One text per failure. Everything else succeeded. */
  readonly failures: readonly string[];
}

/** How long to wait for the lock of a memory. If another process holds the lock, that process does the work. */
const PATIENCE_MS = 50;
/** Sessions that changed more recently are flushed by their own agent. */
const IDLE_MS = 600_000;
const DAY_MS = 86_400_000;
/** Merged notes of this age are moved to the archive, so that a merge does not read the notes of years. */
const ARCHIVED_MS = 90 * DAY_MS;

/**
 * Maintains the memories in some directories: flushes sessions whose process died, merges and archives notes, and deletes old logs. Skips a
 * memory that another process is maintaining. If one memory fails, the failure is reported and the others are maintained.
 */
export async function maintainPlaces(
  settings: MemoryServiceSettings,
  prefixes: AsyncIterable<string> | Iterable<string>,
  options: Pick<AskOptions, 'emit'> & { readonly signal: AbortSignal; readonly gapMs?: number },
): Promise<MaintenanceReport> {
  const { clock, workspace, withoutUser, flush, consolidate, pruneSessionsAfterDays } = settings;
  const { signal } = options;
  const count = { ...NOTHING };
  const failures = new Set<string>();
  const maintain = async (prefix: string) => {
    const attempt = async (what: string, task: () => Promise<void>) => {
      const fail = (error: unknown) =>
        void failures.add(`${what} of ${prefix || 'the workspace'}: ${errorText(error)}`);
      if (!signal.aborted) await task().catch(fail);
    };
    const isOld = (modifiedAt: string) =>
      pruneSessionsAfterDays > 0 && clock.now() - Date.parse(modifiedAt) > pruneSessionsAfterDays * DAY_MS;
    const isKept = isCommon(prefix, withoutUser);
    const isFlushing = isKept && flush !== 'never';
    for await (const { place, size, modifiedAt } of sessionLogs(workspace, prefix))
      await attempt(`session ${JSON.stringify(place.session)}`, async () => {
        const isIdle = Math.abs(clock.now() - Date.parse(modifiedAt)) >= IDLE_MS;
        const isRead = async () => {
          const { offset } = await readProgress(workspace, place.flushState);
          // The last line may be truncated, or contain the ids of a call instead of a message.
          return (
            (offset?.end ?? 0) >= size || (await nextBatch(workspace, place.log, offset, 0)) === undefined
          );
        };
        if (isFlushing && isIdle && !(await isRead())) {
          const { status } = await flushSession(settings, place, options);
          if (status === 'flushed') count.flushed++;
        }
        if (!isOld(modifiedAt) || (isFlushing && !(await isRead()))) return;
        await workspace.delete(place.flushState);
        if (await workspace.delete(place.log)) count.pruned++;
      });
    // A session that still needs its snapshot of MEMORY.md takes a new one.
    await attempt('snapshots', async () => {
      for await (const { path, modifiedAt } of workspace.list(`${prefix}memory/.sections`))
        if (isOld(modifiedAt)) await workspace.delete(path);
    });
    if (isKept && consolidate)
      await attempt('consolidation', async () => {
        const { status } = await consolidateNotes(settings, prefix, options);
        if (status === 'consolidated') count.consolidated++;
        await archiveNotes(workspace, prefix, clock.now() - ARCHIVED_MS);
      });
  };
  for await (const prefix of prefixes) {
    if (signal.aborted) break;
    const unread = await unreadPrefix(workspace, prefix);
    if (unread !== undefined)
      failures.add(
        `no agent reads ${unread}, because the names in its path are not encoded. Import it with x memory import`,
      );
    if (unread === prefix) continue;
    count.scopes++;
    await unlessLocked(workspace, `memory maintenance ${prefix}`, () => maintain(prefix), PATIENCE_MS);
  }
  if (signal.aborted) failures.add(STOPPED);
  return { ...count, failures: [...failures] };
}

/** The failure of a maintenance that was stopped before its end. */
export const STOPPED = 'it was stopped';

/** Moves daily notes from before a time to `memory/archive/`. Notes with unmerged lines stay. */
async function archiveNotes(workspace: Workspace, prefix: string, before: number): Promise<void> {
  const { seen, pending } = await readState(workspace, prefix);
  const isSeen = new Set(pending === undefined ? seen : []);
  const folder = `${prefix}memory/`;
  for (const name of await dailyNotes(workspace, folder)) {
    if (Date.parse(name.slice(0, -'.md'.length)) > before) continue;
    const path = `${folder}${name}`;
    const text = (await readIfFound(workspace, path)) ?? '';
    if (!isMerged(name, text, isSeen)) continue;
    await appendLines(workspace, `${folder}archive/${name}`, text.trimEnd().split('\n'));
    // If the note changed meanwhile, keep it, and archive the rest next time.
    if ((await workspace.stat(path))?.size === Buffer.byteLength(text)) await workspace.delete(path);
  }
}
