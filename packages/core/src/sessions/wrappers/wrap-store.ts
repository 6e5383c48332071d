import type { SessionKey } from '../session-key.js';
import type { SessionLeases } from '../session-leases.js';
import type { SessionStore } from '../session-store.js';

/** Makes the functions of a wrapper around a store, or around one of its collections, which then has a name. */
export type StoreWrapper = (inner: SessionStore, collection: string | undefined) => Partial<SessionStore>;

/**
 * Makes a store that is another one but for some functions. What the other one left out stays left out.
 *
 * @param own A function is called again for every collection that is opened, and wraps it likewise. Functions that are given as
 * they are replace those of the sessions alone.
 * @example
 * ```ts
 * const slow = wrapStore(store, (inner) => ({
 *   load: async (key, options) => {
 *     await sleep(100);
 *     return inner.load(key, options);
 *   },
 * }));
 * ```
 */
export function wrapStore(store: SessionStore, own: Partial<SessionStore> | StoreWrapper): SessionStore {
  return typeof own === 'function' ? wrapped(store, own) : { ...bound(store), ...own };
}

function wrapped(store: SessionStore, own: StoreWrapper, name?: string): SessionStore {
  const { collection, ...rest } = bound(store);
  return {
    ...rest,
    ...(collection && { collection: (name) => wrapped(collection(name), own, name) }),
    ...own(store, name),
  };
}

function bound(store: SessionStore): SessionStore {
  return {
    reach: store.reach,
    load: store.load.bind(store),
    commit: store.commit.bind(store),
    delete: store.delete.bind(store),
    list: store.list.bind(store),
    close: store.close.bind(store),
    ...(store.leases && { leases: store.leases }),
    ...(store.collection && { collection: store.collection.bind(store) }),
    ...(store.collections && { collections: store.collections.bind(store) }),
  };
}

/** What leases do with one session. */
export type LeaseOperation = Exclude<keyof SessionLeases, 'processes'>;

/** Makes leases of which every operation is done by a function. The processes stay the same. */
export function wrapLeases(
  leases: SessionLeases,
  run: <T>(operation: LeaseOperation, key: SessionKey, task: () => Promise<T>) => Promise<T>,
): SessionLeases {
  return {
    processes: leases.processes,
    take: (key, ...rest) => run('take', key, () => leases.take(key, ...rest)),
    confirm: (key, ...rest) => run('confirm', key, () => leases.confirm(key, ...rest)),
    release: (key, claim) => run('release', key, () => leases.release(key, claim)),
    find: (key) => run('find', key, () => leases.find(key)),
  };
}
