import type { ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { operationId, SessionKey, type SessionLease, type SessionStore, userMessage } from '@x/core';
import type { TurnEvent, TurnPlan } from './write-turns.js';

const WRITER = 'paused';
const LEASE_MS = 200;
const POLL_MS = 20;

/**
 * Stops a process that has the lease of a session, between its load and its commit, for longer than the lease lasts. Another
 * takes the lease, but commits nothing yet: what the first commits when it goes on must be refused for its lease alone.
 *
 * @param start as of {@link runWriters}.
 * @throws {Error} when the store takes the commit, or refuses it for another reason.
 */
export async function checkPausedHolder(
  store: SessionStore,
  start: (plan: TurnPlan) => ChildProcess,
): Promise<void> {
  const key = SessionKey.of(WRITER);
  const change = { expected: undefined, head: {}, keep: 0, append: [userMessage('Hi')] };
  await store.commit(key, { ...change, operation: operationId() });
  const child = start({ writer: WRITER, seed: 0, sessions: 0, turns: 0, pausedLeaseMs: LEASE_MS });
  try {
    await Promise.race([once(child, 'message'), once(child, 'exit')]);
    let lease: SessionLease | undefined;
    while (lease === undefined) {
      await sleep(POLL_MS);
      lease = await store.lease?.(key, { ttlMs: 60_000 });
    }
    // Again and again: it may not have stopped yet.
    const waking = setInterval(() => child.kill('SIGCONT'), POLL_MS);
    const said = Promise.race([once(child, 'message'), once(child, 'exit')]);
    const [event] = (await said.finally(() => clearInterval(waking))) as [TurnEvent];
    if (event?.type !== 'fail' || event.code !== 'lease_lost') {
      throw new Error(`The paused process was told ${JSON.stringify(event)}, not that its lease is lost.`);
    }
    const stored = await store.load(key);
    const turn = { operation: operationId(), expected: stored?.token, head: {}, keep: 1, append: [] };
    const version = await store.commit(key, { ...turn, fence: lease.fence });
    if (version !== 2) throw new Error(`The heir's commit made version ${version}, not 2.`);
  } finally {
    child.kill('SIGKILL');
  }
}
