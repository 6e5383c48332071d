import { heartOf } from './process-heart.js';
import type { SessionKey } from './session-key.js';
import type { HeldLease } from './session-leases.js';
import type { SessionStore } from './session-store.js';

/** Finds the live (or possibly live) process that has the lease on a session. Changes nothing. */
export async function findHolder({ leases }: SessionStore, key: SessionKey): Promise<HeldLease | undefined> {
  const holder = await leases?.find(key);
  if (leases === undefined || holder === undefined) return undefined;
  return (await heartOf(leases.processes).isGone(holder)) ? undefined : holder;
}

/** Tests if a live (or possibly live) process has the lease on a session. */
export async function isSessionHeld(store: SessionStore, key: SessionKey): Promise<boolean> {
  return (await findHolder(store, key)) !== undefined;
}

/**
 * Deletes a session unless a live process has its lease. Works even if the store is full.
 *
 * @param options `token`: deletes only this state of the session.
 * @returns `missing` also if the session has another token.
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
    // If the lease was released in between, it may have blocked the deletion, so try once more.
    if (holder === undefined || leases === undefined) {
      if (round > 0 || leases === undefined) return 'missing';
      over = undefined;
    } else if (holder.fence === over || !(await heartOf(leases.processes).isGone(holder, true)))
      return 'busy';
    else over = holder.fence;
  }
}
