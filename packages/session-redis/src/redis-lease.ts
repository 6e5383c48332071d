import { leaseLost, operationId, type SessionKey, type SessionLease } from '@x/core';
import type { RedisClient } from './redis-client.js';
import { grantScript, releaseScript, renewScript } from './scripts/lease.js';
import { runScript } from './scripts/run-script.js';
import { asStoreError } from './store-error.js';

/** What a lease is about. */
export interface LeaseSubject {
  readonly key: SessionKey;
  readonly keys: { readonly lease: string; readonly fence: string; readonly session: string };
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
    runScript(client, grantScript, [keys.lease, keys.fence, keys.session], [holder, ...times]),
  );
  return fence == null ? undefined : new RedisLease(client, subject, holder, String(fence));
}

class RedisLease implements SessionLease {
  readonly fence: number;
  readonly ttlMs: number;
  readonly #client: RedisClient;
  readonly #subject: LeaseSubject;
  readonly #holder: string;
  #released = false;

  constructor(client: RedisClient, subject: LeaseSubject, holder: string, fence: string) {
    this.fence = Number(fence);
    this.ttlMs = subject.ttlMs;
    this.#client = client;
    this.#subject = subject;
    this.#holder = holder;
  }

  async renew(): Promise<void> {
    const { key, keys, lifetime } = this.#subject;
    const values = [this.#holder, String(this.ttlMs), String(this.fence), String(lifetime)];
    const renewed =
      !this.#released &&
      Number(
        await asStoreError(key, () => runScript(this.#client, renewScript, [keys.lease, keys.fence], values)),
      ) === 1;
    if (!renewed) throw leaseLost(key);
  }

  async release(): Promise<void> {
    const { key, keys } = this.#subject;
    this.#released = true;
    await asStoreError(key, () => runScript(this.#client, releaseScript, [keys.lease], [this.#holder]));
  }
}
