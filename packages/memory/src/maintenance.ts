import { type Workspace, WorkspaceError } from '@x/core';
import { errorText } from '@x/core/internal';
import * as z from 'zod';
import { consolidateNotes } from './consolidate/consolidate-notes.js';
import { dailyNotes, isMerged } from './consolidate/new-notes.js';
import { exclusively } from './exclusively.js';
import { readProgress, readState } from './facts/memory-state.js';
import { flushSession } from './flush/flush-session.js';
import { ifWhole, isEncoded, memoryPrefixes, readIfFound, readJson, writeJson } from './memory-files.js';
import type { MemoryIndex } from './memory-index.js';
import { isCommon, type SessionPlace } from './memory-scope.js';
import { sessionLogs } from './session-logs.js';
import { type MemoryServiceSettings, passDefaults } from './settings.js';

const NOTHING = {
  /** Places in the workspace that may have a memory. */
  scopes: 0,
  /** Sessions that were flushed, notes that were archived, scopes whose notes were merged, session logs that were deleted. */
  flushed: 0,
  archived: 0,
  consolidated: 0,
  pruned: 0,
};

/** What a pass did. */
export interface MaintenanceReport extends Readonly<typeof NOTHING> {
  /** `busy`: another process is at it. */
  readonly status: 'done' | 'busy';
  /** One text for each thing that failed. Everything else was done. */
  readonly failures: readonly string[];
}

const LOCK = 'memory maintenance';
/** How long to wait for the lock: if another process holds it, this pass is not needed. */
const PATIENCE_MS = 50;
/** How long to wait while another process works, and after a pass that could not even begin. */
const BUSY_MS = 60_000;
const FAILURE_MS = 3_600_000;
/** Sessions that changed more recently are left to their own agent. */
const IDLE_MS = 600_000;
const DAY_MS = 86_400_000;

/**
 * Maintains the memories of a workspace: flushes sessions whose process died, archives and merges notes, deletes old logs,
 * and updates the index. Of any number of processes, one works at a time, and the interval counts for all of them together.
 */
export class Maintenance {
  readonly #settings: MemoryServiceSettings;
  readonly #index: MemoryIndex;
  readonly #passes: Exclude<MemoryServiceSettings['maintenance'], false>;
  readonly #closing = new AbortController();
  #timer: Promise<void> | undefined;

  constructor(settings: MemoryServiceSettings, index: MemoryIndex) {
    this.#settings = settings;
    this.#passes = settings.maintenance || passDefaults;
    this.#index = index;
  }

  /** Runs a pass every `intervalMs`. The timer does not keep the process alive. Starting twice does nothing. */
  start(): void {
    this.#timer ??= this.#keepRunning().catch((error: unknown) => {
      if (this.#closing.signal.aborted) return;
      process.emitWarning(`The memory's maintenance stopped: ${String(error)}`);
    });
  }

  /** Stops the timer. A running pass ends after its current scope. */
  async close(): Promise<void> {
    this.#closing.abort();
    await this.#timer;
  }

  /** Runs one pass, unless another process runs one. A failure is reported, and the pass continues. */
  async run(onlyIfDue = false): Promise<MaintenanceReport> {
    const busy = { ...NOTHING, status: 'busy', failures: [] } as const;
    let isBegun = false;
    const begin = async (check: () => Promise<void>) => {
      isBegun = true;
      // Another process may have made a pass just now.
      return onlyIfDue && (await this.#untilDue()) > 0 ? busy : this.#pass(check);
    };
    return exclusively(this.#settings.workspace, LOCK, begin, PATIENCE_MS).catch((error: unknown) => {
      if (!isBegun && WorkspaceError.isInstance(error) && error.code === 'locked') return busy;
      if (!onlyIfDue) throw error;
      return { ...busy, failures: [errorText(error)] };
    });
  }

  async #keepRunning(): Promise<void> {
    const { clock, onEvent } = this.#settings;
    const { signal } = this.#closing;
    while (!signal.aborted) {
      const wait = await this.#untilDue().catch(() => BUSY_MS);
      await clock.sleep(wait, { signal, background: true });
      const { status, failures } = await this.run(true);
      if (failures.length > 0)
        onEvent?.({ type: 'memory.failed', operation: 'maintenance', error: failures.join('; ') });
      if (status !== 'busy') continue;
      // If another process runs a pass, look again soon. If the pass failed, wait longer.
      const pause = failures.length > 0 ? FAILURE_MS : BUSY_MS;
      await clock.sleep(Math.min(this.#passes.intervalMs, pause), { signal, background: true });
    }
  }

  async #untilDue(): Promise<number> {
    const { clock, workspace } = this.#settings;
    const now = clock.now();
    const state = await ifWhole(readJson(workspace, PATH, stateSchema, 'It is written anew.'));
    const last = state && Date.parse(state.completedAt);
    // The very first pass is due one interval after the first start.
    if (last === undefined) await notePass(workspace, now);
    const due = (last ?? now) + this.#passes.intervalMs;
    return last !== undefined && last > now ? 0 : Math.max(0, due - now);
  }

  async #pass(check: () => Promise<void>): Promise<MaintenanceReport> {
    const { clock, workspace, withoutUser, flush } = this.#settings;
    const { archiveAfterDays, pruneSessionsAfterDays } = this.#passes;
    const { signal } = this.#closing;
    const count = { ...NOTHING };
    const failures: string[] = [];
    const attempt = async (what: string, prefix: string, task: () => Promise<void>) => {
      if (signal.aborted) return;
      try {
        await task();
      } catch (error) {
        failures.push(`${what} of ${prefix || 'the workspace'}: ${errorText(error)}`);
      }
    };
    const now = clock.now();
    const prefixes: string[] = [];
    for await (const prefix of memoryPrefixes(workspace)) {
      if (signal.aborted) break;
      await check();
      if (!isEncoded(prefix)) {
        failures.push(
          `no agent reads ${prefix}, because the names in its path are not encoded. Import it with x memory import`,
        );
        continue;
      }
      count.scopes++;
      const isKept = isCommon(prefix, withoutUser);
      if (isKept) {
        await attempt('flushing', prefix, async () => {
          if (flush !== 'never') count.flushed += await this.#flush(prefix, signal);
        });
        await attempt('archiving', prefix, async () => {
          if (archiveAfterDays > 0)
            count.archived += await archiveNotes(workspace, prefix, now - archiveAfterDays * DAY_MS);
        });
        await attempt('consolidation', prefix, async () => {
          const { status } = await consolidateNotes(this.#settings, prefix, { signal });
          if (status === 'consolidated') count.consolidated++;
        });
        prefixes.push(prefix);
      }
      await attempt('pruning', prefix, async () => {
        const before = now - pruneSessionsAfterDays * DAY_MS;
        const onlyFlushed = isKept && flush !== 'never';
        if (before < now) count.pruned += await pruneSessions(workspace, prefix, before, onlyFlushed);
      });
    }
    await attempt('indexing', '', () => this.#index.maintain(workspace, prefixes));
    if (signal.aborted) failures.push('it was stopped');
    else await notePass(workspace, clock.now());
    return { status: 'done', ...count, failures };
  }

  /** Flushes sessions that were left unflushed because their process died or the model could not be reached. */
  async #flush(prefix: string, signal: AbortSignal): Promise<number> {
    const { workspace, clock } = this.#settings;
    let flushed = 0;
    for await (const { place, size, modifiedAt } of sessionLogs(workspace, prefix)) {
      const isIdle = Math.abs(clock.now() - Date.parse(modifiedAt)) >= IDLE_MS;
      if (!isIdle || (await isFlushed(workspace, place, size))) continue;
      const { status } = await flushSession(this.#settings, place, { signal });
      if (status === 'flushed') flushed++;
    }
    return flushed;
  }
}

/** Tests whether a log of that size has been flushed to its end. */
async function isFlushed(workspace: Workspace, place: SessionPlace, size: number): Promise<boolean> {
  return ((await readProgress(workspace, place.flushState)).offset?.end ?? 0) >= size;
}

const PATH = 'memory/.maintenance_state';
const stateSchema = z.object({ completedAt: z.iso.datetime() });

async function notePass(workspace: Workspace, now: number): Promise<void> {
  await writeJson(workspace, PATH, { completedAt: new Date(now).toISOString() });
}

/** Moves daily notes from before a time to `memory/archive/` and counts them. Notes that are not merged completely stay. */
async function archiveNotes(workspace: Workspace, prefix: string, before: number): Promise<number> {
  const { seen, pending } = await readState(workspace, prefix);
  if (pending !== undefined) return 0;
  const isSeen = new Set(seen);
  let moved = 0;
  for (const name of await dailyNotes(workspace, `${prefix}memory/`)) {
    if (Date.parse(name.slice(0, -'.md'.length)) > before) continue;
    const path = `${prefix}memory/${name}`;
    const text = (await readIfFound(workspace, path)) ?? '';
    if (!isMerged(name, text, isSeen)) continue;
    await keep(workspace, `${prefix}memory/archive/${name}`, text);
    // If the note was added to meanwhile, it stays, and the rest is archived the next time.
    if ((await workspace.stat(path))?.size !== Buffer.byteLength(text)) continue;
    if (await workspace.delete(path)) moved++;
  }
  return moved;
}

/** Writes a note to the archive, behind an earlier note of that day, unless it is there already. */
async function keep(workspace: Workspace, path: string, text: string): Promise<void> {
  const archived = await readIfFound(workspace, path);
  if (archived === undefined || text.startsWith(archived)) await workspace.write(path, text);
  else if (!archived.endsWith(text)) await workspace.write(path, `${archived}${text}`);
}

/** Deletes the logs of sessions that did not change since a time, with the progress of their flushes, and counts them. */
async function pruneSessions(
  workspace: Workspace,
  prefix: string,
  before: number,
  onlyFlushed: boolean,
): Promise<number> {
  const old: SessionPlace[] = [];
  for await (const { place, size, modifiedAt } of sessionLogs(workspace, prefix)) {
    const isOld = Date.parse(modifiedAt) < before;
    if (isOld && (!onlyFlushed || (await isFlushed(workspace, place, size)))) old.push(place);
  }
  let pruned = 0;
  for (const { flushState, log } of old) {
    await workspace.delete(flushState);
    if (await workspace.delete(log)) pruned++;
  }
  return pruned;
}
