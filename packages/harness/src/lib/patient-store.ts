import { type SessionStore, TimeLimitError } from '@x/core';
import { type Clock, isOutage } from '@x/core/internal';
import { wrapLeases, wrapStore } from '@x/core/store';

/** Milliseconds between two attempts. */
const PAUSE_MS = 500;

interface Patience {
  /** 0 for no limit. */
  readonly outageMs: number;
  readonly clock: Clock;
  /** Ends the repetitions. */
  readonly signal: AbortSignal;
}

/**
 * Returns a store that repeats its loads and commits while the store does not respond, at most for `outageMs`. A commit that is sent again
 * applies once.
 */
export function patientStore(store: SessionStore, { outageMs, clock, signal }: Patience): SessionStore {
  async function patient<Value>(request: () => Promise<Value>): Promise<Value> {
    const until = clock.now() + (outageMs || Number.POSITIVE_INFINITY);
    for (;;) {
      try {
        return await request();
      } catch (error) {
        const isOut = isOutage(error) || TimeLimitError.isInstance(Object(error).cause);
        if (!isOut || signal.aborted || clock.now() >= until) throw error;
      }
      await clock.sleep(PAUSE_MS, { signal }).catch(() => {});
    }
  }
  return wrapStore(store, (inner) => ({
    load: (...given) => patient(() => inner.load(...given)),
    commit: (...given) => patient(() => inner.commit(...given)),
    ...(inner.leases && { leases: wrapLeases(inner.leases, (_, __, request) => patient(request)) }),
  }));
}
