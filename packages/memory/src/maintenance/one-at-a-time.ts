import { SessionKey, SessionLeaseError, takeTurn, WorkspaceError } from '@x/core';
import type { MaintenanceSettings } from './maintenance-config.js';

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
  try {
    return await workspace.lock(
      LOCK,
      () => {
        begun = true;
        return task(undefined);
      },
      { timeoutMs: PATIENCE_MS },
    );
  } catch (error) {
    if (!begun && WorkspaceError.isInstance(error) && error.code === 'locked') return undefined;
    throw error;
  }
}
