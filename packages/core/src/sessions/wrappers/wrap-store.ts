import type { SessionKey } from '../session-key.js';
import type { SessionLeases } from '../session-leases.js';
import type { SessionStore } from '../session-store.js';

/** Returns the functions that replace those of a store. `collection` is the name if `inner` is a collection. */
export type StoreWrapper = (inner: SessionStore, collection: string | undefined) => Partial<SessionStore>;

/**
 * Wraps a store and replaces some of its functions. Optional functions that the store lacks stay absent.
 *
 * @param own The replacements, or a function that creates them. The function is called again for every opened collection. Replacements
 * given as an object apply to sessions only.
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

/** The operations of leases on one session. */
export type LeaseOperation = Exclude<keyof SessionLeases, 'processes'>;

/** Wraps leases so that `run` runs every operation. The processes stay the same. */
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
