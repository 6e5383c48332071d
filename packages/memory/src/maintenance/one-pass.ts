import { SessionKey, SessionLeaseError, takeTurn, type Workspace, WorkspaceError } from '@x/core';
import * as z from 'zod';
import { readJson, writeJson } from '../memory-files.js';
import type { MaintenanceSettings } from '../settings.js';

/** No agent has this name by chance, so the key is no session's. */
const KEY = SessionKey.of({ agentId: '@x/memory', sessionId: 'maintenance' });
const LOCK = 'memory maintenance';
/** How long a lock that is held may take to come free: as good as not at all. */
const PATIENCE_MS = 50;

/**
 * Runs `task` unless another process is at it; then answers `undefined`. By a lease of the session store where it has
 * leases, else by the workspace's lock where it has one. The signal is aborted when the lease is lost.
 */
export async function oneAtATime<T>(
  { store, workspace, clock }: Pick<MaintenanceSettings, 'store' | 'workspace' | 'clock'>,
  task: (lost: AbortSignal | undefined) => Promise<T>,
): Promise<T | undefined> {
  if (store?.lease !== undefined) {
    const turn = await takeTurn(store, KEY, { turns: 'reject', clock }).catch((error: unknown) => {
      if (SessionLeaseError.isInstance(error)) return undefined;
      throw error;
    });
    if (turn === undefined) return undefined;
    try {
      return await task(turn.lost);
    } finally {
      await turn.release();
    }
  }
  if (workspace.lock === undefined) return task(undefined);
  let begun = false;
  const begin = () => {
    begun = true;
    return task(undefined);
  };
  return workspace.lock(LOCK, begin, { timeoutMs: PATIENCE_MS }).catch((error: unknown) => {
    if (!begun && WorkspaceError.isInstance(error) && error.code === 'locked') return undefined;
    throw error;
  });
}

const PATH = 'memory/.maintenance_state';
const stateSchema = z.object({ completedAt: z.iso.datetime() });

/** When the last pass over a workspace was completed, by whichever process; `undefined` when none ever was. */
export async function lastPass(workspace: Workspace): Promise<number | undefined> {
  // Whatever a file that cannot be read says, a pass too many does no harm.
  const state = await readJson(workspace, PATH, stateSchema.nullable().catch(null), '');
  return state ? Date.parse(state.completedAt) : undefined;
}

export async function notePass(workspace: Workspace, now: number): Promise<void> {
  await writeJson(workspace, PATH, { completedAt: new Date(now).toISOString() });
}
