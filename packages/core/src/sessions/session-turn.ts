import { SessionLeaseError } from '../errors/session-errors.js';
import { type Clock, systemClock } from '../lib/clock.js';
import { tell } from '../lib/tell.js';
import { errorText } from '../lib/text.js';
import type { SessionKey } from './session-key.js';
import type { SessionLease, SessionStore } from './session-store.js';
import { leaseLost } from './store-rules.js';

const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** How long a lease lasts by default. With the longest pause of those who wait: another process takes over within 3 s. */
export const LEASE_TTL_MS = 2_500;
const NO_ANSWER = 'no answer';

/** Options of `takeTurn`: waiting for a turn, and keeping it. */
export interface TakeTurnOptions {
  /** Behavior while another call has the turn: wait in line (default), or fail at once. */
  readonly turns?: 'queue' | 'reject' | undefined;
  /** Milliseconds to wait in line. Default 60 000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds after which the turn of a process that died is free again. Default {@link LEASE_TTL_MS}. */
  readonly ttlMs?: number | undefined;
  /** Milliseconds between renewals. Default: a third of `ttlMs`. */
  readonly heartbeatMs?: number | undefined;
  /** Told once where another call has the turn, as the wait in line begins. */
  readonly onWait?: (() => void) | undefined;
  /** Gives up waiting. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/** The right to run a session's turns, kept alive until it is released. */
export interface SessionTurn {
  /** For every commit: `openSession(store, key, { fence })`. `undefined` when the store has no leases. */
  readonly fence: number | undefined;
  /** Aborts with a `SessionLeaseError` `lease_lost` when another process may have the turn. */
  readonly lost: AbortSignal;
  /** Gives the turn up. Never fails: a turn that cannot be given up ends by itself. */
  release(): Promise<void>;
}

/**
 * Takes the turn of a session across all processes that share the store. On a store without leases the turn is granted
 * at once and never lost.
 *
 * @example
 * ```ts
 * const turn = await takeTurn(store, key);
 * try {
 *   const session = await openSession(store, key, { fence: turn.fence });
 *   session.state.contextMutable().push(userMessage('Hello'));
 *   await session.commit();
 * } finally {
 *   await turn.release();
 * }
 * ```
 * @throws {SessionLeaseError} `lease_unavailable` when another call has the turn and keeps it.
 * @throws the reason of `signal` when it is aborted while waiting.
 */
export async function takeTurn(
  store: SessionStore,
  key: SessionKey,
  options: TakeTurnOptions = {},
): Promise<SessionTurn> {
  const { ttlMs = LEASE_TTL_MS, clock = systemClock } = options;
  if (store.lease === undefined) {
    return { fence: undefined, lost: new AbortController().signal, release: async () => {} };
  }
  const lease = await waitForLease(store.lease.bind(store, key, { ttlMs }), key, options, clock);
  const stop = new AbortController();
  const lost = new AbortController();
  keepAlive(lease, key, options.heartbeatMs ?? ttlMs / 3, clock, stop.signal).catch((error: unknown) => {
    if (!stop.signal.aborted) lost.abort(error);
  });
  return {
    fence: lease.fence,
    lost: lost.signal,
    async release() {
      stop.abort();
      await lease.release().catch(() => {});
    },
  };
}

/** Long enough to do something with one session. */
const TASK_MS = 60_000;

/** Does something with a session that nobody runs a turn of; `undefined` where somebody does. */
export async function unlessBusy<T>(
  store: SessionStore,
  key: SessionKey,
  task: () => Promise<T>,
): Promise<T | undefined> {
  const lease = await store.lease?.(key, { ttlMs: TASK_MS });
  if (store.lease !== undefined && lease === undefined) return undefined;
  try {
    return await task();
  } finally {
    // A lease that cannot be released ends by itself.
    await lease?.release().catch(() => {});
  }
}

async function waitForLease(
  ask: () => Promise<SessionLease | undefined>,
  key: SessionKey,
  { turns = 'queue', timeoutMs = 60_000, onWait, signal }: TakeTurnOptions,
  clock: Clock,
): Promise<SessionLease> {
  const deadline = clock.now() + timeoutMs;
  for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
    signal?.throwIfAborted();
    const lease = await ask();
    if (lease !== undefined) return lease;
    const rest = deadline - clock.now();
    if (turns === 'reject' || rest <= 0) throw unavailable(key, turns === 'reject' ? undefined : timeoutMs);
    if (pause === FIRST_PAUSE_MS) tell('onWait', onWait, undefined);
    // With jitter, so that those who wait do not all ask at the same moments.
    await clock.sleep(Math.min(rest, pause * (0.5 + Math.random() / 2)), { signal });
  }
}

/**
 * Renews until stopped; rejects when the lease is lost or could not be renewed in time, and when stopped. A process that
 * stood still (a blocked loop, a closed lid) gets another heartbeat's time to ask whether another process has the turn: if
 * not, it goes on. It gets it once until a renewal succeeds, or a busy process would never end.
 */
async function keepAlive(
  lease: SessionLease,
  key: SessionKey,
  heartbeatMs: number,
  clock: Clock,
  stop: AbortSignal,
): Promise<never> {
  let endsAt = clock.now() + lease.ttlMs;
  let seenAt = clock.now();
  let isExtended = false;
  // Short enough to notice that the process stood still: a timer that was due in the middle of that is hardly late.
  const stepMs = heartbeatMs / 4;
  const look = (sleptMs = 0) => {
    const now = clock.now();
    if (now - seenAt - sleptMs >= stepMs && !isExtended && now + heartbeatMs > endsAt) {
      endsAt = now + heartbeatMs;
      isExtended = true;
    }
    seenAt = now;
    return now;
  };
  const sleep = async (ms: number, signal: AbortSignal) => {
    await clock.sleep(ms, { signal, background: true });
    look(ms);
  };
  const rest = () => Math.max(0, endsAt - look());
  for (let startedAt = seenAt; ; ) {
    await sleep(Math.min(Math.max(0, startedAt + heartbeatMs - seenAt), rest()), stop);
    startedAt = look();
    const answered = new AbortController();
    const renewal = lease.renew().then(() => undefined, refusal);
    let failure: string | undefined;
    do {
      const late = sleep(Math.min(stepMs, rest()), answered.signal).then(() => NO_ANSWER);
      failure = await Promise.race([renewal, late]);
      late.catch(() => {});
    } while (failure === NO_ANSWER && rest() > 0);
    answered.abort();
    // A store that is out of reach for a moment is asked again, for as long as the lease lasts.
    if (failure === undefined) {
      endsAt = startedAt + lease.ttlMs;
      isExtended = false;
    } else if (rest() === 0) throw leaseLost(key, `it could not be renewed in time (${failure})`);
  }
}

/** Answers the text of a failed renewal that may be tried again; throws when the lease is lost. */
function refusal(error: unknown): string {
  if (SessionLeaseError.isInstance(error)) throw error;
  return errorText(error);
}

/** Makes the error for a call that does not get its turn. */
function unavailable(key: SessionKey, waitedMs?: number): SessionLeaseError {
  return new SessionLeaseError(
    'lease_unavailable',
    `Another call to session ${key} is running${waitedMs === undefined ? '' : ` and did not end within ${waitedMs} ms`}. ` +
      'Nothing was stored; call again when it has ended, wait longer (timeoutMs; limits.queueMs of an agent), or use another session.',
    { sessionKey: key.toString() },
  );
}
