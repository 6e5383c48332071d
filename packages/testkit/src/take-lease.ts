import type { SessionKey, SessionStore } from '@x/core';
import { type LeaseClaim, operationId } from '@x/core/store';

/** A lease that a test holds. */
export interface TakenLease {
  readonly claim: LeaseClaim;
  readonly fence: number;
  confirm(): Promise<boolean>;
  release(): Promise<void>;
}

/** Returns a claim of a process on another host, so that this host cannot check whether the process is alive. */
export function claimOf(process = 'process'): LeaseClaim {
  const place = { host: 'elsewhere', pid: 1, started: '1' };
  return { ...place, process, token: operationId(), ttlMs: 5_000, takenAt: '2026-01-01T00:00:00.000Z' };
}

/** Takes a lease without waiting. Returns `undefined` while another claim holds it. */
export async function takeLease(
  store: SessionStore,
  key: SessionKey,
  options: {
    readonly over?: number | undefined;
    readonly process?: string | undefined;
    readonly claim?: LeaseClaim | undefined;
  } = {},
): Promise<TakenLease | undefined> {
  const { leases } = store;
  const { over, claim = claimOf(options.process) } = options;
  const fence = await leases?.take(key, claim, { over });
  if (leases === undefined || fence === undefined) return undefined;
  return {
    claim,
    fence,
    confirm: () => leases.confirm(key, claim, fence),
    release: () => leases.release(key, claim),
  };
}
