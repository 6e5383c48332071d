import type { SessionStore } from '../session-store.js';

/** Makes a store that is another one but for some functions. What the other one left out stays left out. */
export function wrapStore(store: SessionStore, own: Partial<SessionStore>): SessionStore {
  return {
    reach: store.reach,
    load: store.load.bind(store),
    commit: store.commit.bind(store),
    delete: store.delete.bind(store),
    list: store.list.bind(store),
    close: store.close.bind(store),
    ...(store.lease && { lease: store.lease.bind(store) }),
    ...(store.isLeased && { isLeased: store.isLeased.bind(store) }),
    ...own,
  };
}
