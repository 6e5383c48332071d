import { leaseLost, operationId, type SessionKey, type SessionLease } from '@x/core';
import type { RedisClient } from './redis-client.js';
import type { SessionKeys } from './redis-keys.js';
import { grantScript, releaseScript, renewScript } from './scripts/lease.js';
import { runScript } from './scripts/run-script.js';
import { asStoreError } from './store-error.js';

/** What a lease is about. */
export interface LeaseSubject {
  readonly key: SessionKey;
  readonly keys: Pick<SessionKeys, 'lease' | 'fence' | 'session' | 'lifetime'>;
  readonly ttlMs: number;
  /** Milliseconds after its last commit at which the session is gone; 0 for never. */
  readonly lifetime: number;
}

/** The lease of a session, or `undefined` while somebody else has it. */
export async function grantLease(
  client: RedisClient,
  subject: LeaseSubject,
): Promise<SessionLease | undefined> {
  const { key, keys, ttlMs, lifetime } = subject;
  const holder = operationId();
  const times = [String(ttlMs), String(lifetime)];
  const fence = await asStoreError(key, () =>
    runScript(client, grantScript, [keys.lease, keys.fence, keys.session, keys.lifetime], [holder, ...times]),
  );
  if (fence == null) return undefined;
  let isReleased = false;
  return {
    fence: Number(fence),
    ttlMs,
    renew: async () => {
      const values = [holder, String(ttlMs), String(fence), String(lifetime)];
      const renewed = await asStoreError(key, async () =>
        isReleased ? 0 : runScript(client, renewScript, [keys.lease, keys.fence], values),
      );
      if (Number(renewed) !== 1) throw leaseLost(key);
    },
    release: async () => {
      isReleased = true;
      await asStoreError(key, () => runScript(client, releaseScript, [keys.lease], [holder]));
    },
  };
}
