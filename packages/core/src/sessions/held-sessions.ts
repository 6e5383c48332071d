import { heartOf } from './process-heart.js';
import type { SessionKey } from './session-key.js';
import type { HeldLease } from './session-leases.js';
import type { SessionStore } from './session-store.js';

/** Finds the process that runs a turn of a session: one that is alive, or may be. Asking takes nothing. */
export async function findHolder({ leases }: SessionStore, key: SessionKey): Promise<HeldLease | undefined> {
  const holder = await leases?.find(key);
  if (leases === undefined || holder === undefined) return undefined;
  return (await heartOf(leases.processes).isGone(holder)) ? undefined : holder;
}

/** Tests whether a process that is alive runs a turn of a session, or may do so. */
export async function isSessionHeld(store: SessionStore, key: SessionKey): Promise<boolean> {
  return (await findHolder(store, key)) !== undefined;
}

/**
 * Deletes a session that no living process runs a turn of. It needs no room in the store.
 *
 * @param options `token`: only that state of the session.
 * @returns `missing` also where the session has another token.
 */
export async function deleteUnlessLeased(
  store: SessionStore,
  key: SessionKey,
  { token }: { readonly token?: string | undefined } = {},
): Promise<'deleted' | 'missing' | 'busy'> {
  const { leases } = store;
  let over: number | undefined;
  for (let round = 0; ; round++) {
    if (await store.delete(key, { token, unlessLeased: true, over })) return 'deleted';
    const holder = await leases?.find(key);
    // Where the lease was released in between, it may have been the reason.
    if (holder === undefined || leases === undefined) {
      if (round > 0 || leases === undefined) return 'missing';
      over = undefined;
    } else if (holder.fence === over || !(await heartOf(leases.processes).isGone(holder, true)))
      return 'busy';
    else over = holder.fence;
  }
}
