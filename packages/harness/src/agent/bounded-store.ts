import {
  type SessionLease,
  type SessionStore,
  SessionStoreError,
  stepwise,
  TimeLimitError,
  withinLimit,
  wrapStore,
} from '@x/core';

/**
 * Bounds every request of an agent to its store. A commit whose answer did not come may have been applied: it is sent again as it is.
 *
 * @param ms Milliseconds; 0 for no limit.
 */
export function boundedStore(store: SessionStore, ms: number): SessionStore {
  async function within<Value>(
    what: string,
    work: () => Promise<Value>,
    outcome: 'none' | 'unknown' = 'none',
  ): Promise<Value> {
    try {
      return await withinLimit([`The session store's ${what}`, 'limits.storeMs', ms], work);
    } catch (cause) {
      if (!TimeLimitError.isInstance(cause)) throw cause;
      throw new SessionStoreError('session_unavailable', cause.message, { cause, outcome });
    }
  }
  const { lease, isLeased } = store;
  return wrapStore(store, {
    load: (key, options) => within('load', () => store.load(key, options)),
    commit: (key, change) => within('commit', () => store.commit(key, change), 'unknown'),
    delete: (key, options) => within('deletion', () => store.delete(key, options), 'unknown'),
    list: (scope, options) => stepwise(store.list(scope, options), (step) => within('list', step)),
    ...(isLeased && { isLeased: (key) => within('isLeased', () => isLeased.call(store, key)) }),
    ...(lease && {
      lease: async (key, options) => {
        const granted = await within('lease', () => lease.call(store, key, options));
        return granted && boundedLease(granted);
      },
    }),
  });

  function boundedLease(granted: SessionLease): SessionLease {
    return {
      fence: granted.fence,
      ttlMs: granted.ttlMs,
      renew: () => granted.renew(),
      release: () => within('release', () => granted.release()),
    };
  }
}
