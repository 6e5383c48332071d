import {
  isOutage,
  SessionConflictError,
  SessionLeaseError,
  SessionStoreError,
} from '../errors/session-errors.js';
import { XError } from '../errors/x-error.js';
import { type Clock, steadyClock } from '../lib/clock.js';
import { notify } from '../lib/notify.js';
import { type HeldTurn, heartOf, PROCESS_TTL_MS, type ProcessHeart } from './process-heart.js';
import type { SessionKey } from './session-key.js';
import type { LeaseClaim, SessionLeases } from './session-leases.js';
import type { SessionStore } from './session-store.js';
import { leaseLost, sessionDeleted } from './store-rules.js';
import { wrapStore } from './wrappers/wrap-store.js';

/** The first and the longest pause between two attempts to take a lease or to commit. Pauses are random, below a limit that doubles. */
const FIRST_PAUSE_MS = 20;
const LONGEST_PAUSE_MS = 500;
/** The longest delay in milliseconds that a timer accepts; longer delays fire at once. */
const LONGEST_SLEEP_MS = 2 ** 31 - 1;

/** Options of `takeTurn`. */
export interface TakeTurnOptions {
  /** Behavior while another call has the lease: wait in the queue (default), or fail at once. */
  readonly turns?: 'queue' | 'reject' | undefined;
  /** Milliseconds to wait in the queue. Default 60 000. */
  readonly timeoutMs?: number | undefined;
  /** Milliseconds without a heartbeat after which another process may treat this one as dead. Default {@link PROCESS_TTL_MS}. */
  readonly processTtlMs?: number | undefined;
  /**
   * Milliseconds for which {@link SessionTurn.guard} retries a commit while the store is unavailable, and for which
   * {@link SessionTurn.certain} waits. Default 300 000.
   */
  readonly outageMs?: number | undefined;
  /** Called once when the wait begins, if another call has the lease. */
  readonly onWait?: (() => void) | undefined;
  /** Called when the lease is taken over from a dead process. */
  readonly onTakeOver?: (() => void) | undefined;
  /**
   * Called with `false` if an outage of the store lasts so long that another process may have taken the lease, and with `true` when it is
   * certain again that this process has it.
   */
  readonly onUncertain?: ((isOver: boolean) => void) | undefined;
  /** Aborts the wait. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
}

/** The lease on a session: the exclusive right to run its calls, until it is released. */
export interface SessionTurn {
  /** The fence of the lease. Every commit needs it: `openSession(store, key, { fence })`. `undefined` if the store has no leases. */
  readonly fence: number | undefined;
  /** A unique name of this turn's claim to the lease. The store compares it when the lease is released. `undefined` if the store has no leases. */
  readonly token: string | undefined;
  /**
   * Aborts with a `SessionLeaseError` `lease_lost` when another process has taken the lease, and with a `SessionStoreError`
   * `session_deleted` when the session was deleted. An outage of the store does not abort it.
   */
  readonly lost: AbortSignal;
  /**
   * Resolves when it is certain that no other process has taken the lease, usually at once. Call it before an action that must not happen
   * twice.
   *
   * @throws {SessionLeaseError} `lease_lost` when another process has taken the lease.
   * @throws {SessionStoreError} `session_unavailable` when the store does not answer for `outageMs`.
   * @throws the reason of the signal.
   */
  certain(signal?: AbortSignal): Promise<void>;
  /**
   * Wraps a store for the commits under this lease. During an outage of the store, the wrapper retries the same commit, which is safe, until
   * the signal fires or `outageMs` have passed.
   */
  guard(store: SessionStore, signal?: AbortSignal): SessionStore;
  /**
   * Runs a write that no fence protects, such as writing to the log. Waits until the lease is certain, and retries the write if it fails
   * during an outage of the store, or with an error that `isTransient`. So `write` must be safe to repeat. After the signal has fired,
   * writes once without waiting.
   *
   * @throws {SessionLeaseError} `lease_lost` when another process has taken the lease.
   * @throws the errors of `write` that are not transient, if the store responds, and those of {@link SessionTurn.certain}.
   */
  persist<Value>(write: () => Promise<Value>, signal: AbortSignal): Promise<Value>;
  /** Releases the lease. Never fails: if the store is unavailable, a later heartbeat of this process retries the release. */
  release(): Promise<void>;
}

/** The turn on a store without leases. */
const FREE: SessionTurn = {
  fence: undefined,
  token: undefined,
  lost: new AbortController().signal,
  certain: async () => {},
  guard: (store) => store,
  persist: (write) => write(),
  release: async () => {},
};

/**
 * Acquires the lease on a session across all processes that share the store. On a store without leases it succeeds at once, and the lease
 * is never lost.
 *
 * @example
 * ```ts
 * const turn = await takeTurn(store, key);
 * try {
 *   const session = await openSession(turn.guard(store), key, { fence: turn.fence });
 *   session.state.contextMutable().push(userMessage('Hello'));
 *   await session.commit();
 * } finally {
 *   await turn.release();
 * }
 * ```
 * @throws {SessionLeaseError} `lease_unavailable` when another call keeps the lease until the timeout.
 * @throws {SessionStoreError} when the store does not respond.
 * @throws the reason of `signal` when it is aborted while waiting.
 */
export async function takeTurn(
  store: SessionStore,
  key: SessionKey,
  options: TakeTurnOptions = {},
): Promise<SessionTurn> {
  const { leases } = store;
  if (leases === undefined) return FREE;
  const heart = heartOf(leases.processes, options.clock);
  const claim = await heart.claim(options.processTtlMs ?? PROCESS_TTL_MS);
  const release = () => leases.release(key, claim);
  try {
    const fence = await waitForLease(leases, heart, key, claim, options);
    const turn = new LeasedTurn({ store, leases, heart, key, claim, fence, options });
    heart.hold(turn);
    return turn;
  } catch (error) {
    const isRefused = error === options.signal?.reason || SessionLeaseError.isInstance(error);
    // If the store failed, it may have granted the lease.
    void heart.drop(claim, isRefused ? undefined : release);
    throw error;
  }
}

async function waitForLease(
  leases: SessionLeases,
  heart: ProcessHeart,
  key: SessionKey,
  claim: LeaseClaim,
  { turns = 'queue', timeoutMs = 60_000, onWait, onTakeOver, signal, clock = steadyClock }: TakeTurnOptions,
): Promise<number> {
  const deadline = clock.now() + timeoutMs;
  // Takes the lease if it is free or its holder is dead. `over` is the fence of a dead holder.
  const take = async () => {
    for (let over: number | undefined; ; ) {
      const fence = await leases.take(key, claim, { over });
      if (fence !== undefined && over !== undefined) notify('onTakeOver', onTakeOver, undefined);
      const holder = fence === undefined ? await leases.find(key) : undefined;
      if (holder === undefined || holder.fence === over || !(await heart.isGone(holder))) return fence;
      over = holder.fence;
    }
  };
  for (let pause = FIRST_PAUSE_MS; ; ) {
    signal?.throwIfAborted();
    const fence = await take().catch((error: unknown) => {
      // A call that is already waiting keeps waiting while the store is unavailable.
      if (pause === FIRST_PAUSE_MS || !isOutage(error) || clock.now() >= deadline) throw error;
      return undefined;
    });
    if (fence !== undefined) return fence;
    const rest = deadline - clock.now();
    if (turns === 'reject' || rest <= 0) throw unavailable(key, turns === 'reject' ? undefined : timeoutMs);
    if (pause === FIRST_PAUSE_MS) notify('onWait', onWait, undefined);
    // Jitter keeps waiting calls from polling at the same moments.
    await clock.sleep(Math.min(rest, pause * (0.5 + Math.random() / 2)), { signal });
    pause = Math.min(2 * pause, LONGEST_PAUSE_MS);
  }
}

interface Leased {
  readonly store: SessionStore;
  readonly leases: SessionLeases;
  readonly heart: ProcessHeart;
  readonly key: SessionKey;
  readonly claim: LeaseClaim;
  readonly fence: number;
  readonly options: TakeTurnOptions;
}

class LeasedTurn implements SessionTurn, HeldTurn {
  readonly #leased: Leased;
  readonly #lost = new AbortController();
  readonly #clock: Clock;
  readonly #outageMs: number;
  /** `true` once the session is known to be in the store. */
  #isStored = false;
  /** Time of the first commit without a response in the current outage. */
  #silentSince: number | undefined;

  constructor(leased: Leased) {
    this.#leased = leased;
    this.#clock = leased.options.clock ?? steadyClock;
    this.#outageMs = leased.options.outageMs ?? 300_000;
  }

  get claim(): LeaseClaim {
    return this.#leased.claim;
  }

  get token(): string {
    return this.claim.token;
  }

  get fence(): number {
    return this.#leased.fence;
  }

  get lost(): AbortSignal {
    return this.#lost.signal;
  }

  onUncertain(isOver: boolean): void {
    notify('onUncertain', this.#leased.options.onUncertain, isOver);
  }

  async confirm(): Promise<boolean> {
    const { leases, key, claim, fence } = this.#leased;
    const isOurs = await leases.confirm(key, claim, fence);
    if (!isOurs) this.#lost.abort(await this.#loss());
    return isOurs;
  }

  async certain(signal?: AbortSignal): Promise<void> {
    const { heart, key } = this.#leased;
    this.#lost.signal.throwIfAborted();
    if (heart.isCertain(this)) return;
    const outage = new AbortController();
    const timer = this.#clock
      .sleep(Math.min(this.#outageMs, LONGEST_SLEEP_MS), { signal: outage.signal, background: true })
      .then(() => outage.abort(unanswered(key, this.#outageMs)))
      .catch(() => {});
    const signals = [this.#lost.signal, outage.signal, ...(signal ? [signal] : [])];
    const any = AbortSignal.any(signals);
    await heart.settled(this, any);
    any.throwIfAborted();
    outage.abort();
    await timer;
  }

  guard(store: SessionStore, signal?: AbortSignal): SessionStore {
    return wrapStore(store, {
      commit: async (key, change) => {
        // The `lease_lost` error of a commit. Set only if this turn still held the lease when it asked again.
        let refused: unknown;
        for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
          const askedAt = this.#clock.now();
          this.#isStored ||= change.expected !== undefined;
          try {
            const version = await store.commit(key, change);
            this.#silentSince = undefined;
            this.#isStored = true;
            return version;
          } catch (error) {
            const isMissing = SessionConflictError.isInstance(error) && error.actualVersion === 0;
            if (isMissing && change.expected !== undefined) throw sessionDeleted(key);
            // This turn holds the lease, but the retry was rejected too: another process deleted the session and created it again.
            if (refused !== undefined && !isOutage(error)) throw refused;
            if (isLost(error)) {
              refused = (await this.confirm().catch(() => false)) ? error : undefined;
              if (refused === undefined) throw this.#lost.signal.aborted ? this.#lost.signal.reason : error;
            } else {
              if (!isOutage(error)) throw error;
              this.#silentSince ??= askedAt;
              if (signal?.aborted || this.#clock.now() - this.#silentSince >= this.#outageMs) throw error;
            }
            await this.#clock.sleep(pause, { signal }).catch(() => {});
          }
        }
      },
    });
  }

  async persist<Value>(write: () => Promise<Value>, signal: AbortSignal): Promise<Value> {
    const { heart } = this.#leased;
    let failedSince: number | undefined;
    for (let pause = FIRST_PAUSE_MS; ; pause = Math.min(2 * pause, LONGEST_PAUSE_MS)) {
      await this.certain(signal).catch((error: unknown) => {
        if (this.#lost.signal.aborted || !signal.aborted) throw error;
      });
      const { lapses } = heart;
      const askedAt = this.#clock.now();
      try {
        return await write();
      } catch (error) {
        const isTransient = XError.isInstance(error) && error.isTransient === true;
        failedSince = isTransient ? (failedSince ?? askedAt) : undefined;
        const isRetried = failedSince !== undefined && this.#clock.now() - failedSince < this.#outageMs;
        // If heartbeats lapsed since the write began, the write may have failed only because of an outage, so it is repeated, too.
        const isAnswered = heart.isCertain(this) && heart.lapses === lapses;
        if (signal.aborted || (isAnswered && !isRetried)) throw error;
      }
      await this.#clock.sleep(pause, { signal }).catch(() => {});
    }
  }

  async release(): Promise<void> {
    const { heart, leases, key, claim } = this.#leased;
    await heart.drop(claim, () => leases.release(key, claim));
  }

  async #loss(): Promise<SessionLeaseError | SessionStoreError> {
    const { leases, key, store } = this.#leased;
    const holder = await leases.find(key).catch(() => undefined);
    const isDeleted = async () => (await store.load(key, { last: 0 })) === undefined;
    if (holder === undefined && this.#isStored && (await isDeleted().catch(() => false)))
      return sessionDeleted(key);
    const [host] = holder?.host.split('+') ?? [];
    const who = holder === undefined ? 'another one' : `another one (process ${holder.pid} on ${host})`;
    return leaseLost(key, `the process lost its turn to ${who}`);
  }
}

function isLost(error: unknown): boolean {
  return SessionLeaseError.isInstance(error) && error.code === 'lease_lost';
}

function unanswered(key: SessionKey, ms: number): SessionStoreError {
  return new SessionStoreError(
    'session_unavailable',
    `The session store did not confirm within ${ms} ms (outageMs; limits.outageMs of an agent) that this process still has the lease on session ` +
      `${key}. Nothing more was started. Repeat the call when the store responds again.`,
    { sessionKey: key.toString(), outcome: 'none' },
  );
}

/** Creates the error for a call that does not get the lease. */
function unavailable(key: SessionKey, waitedMs?: number): SessionLeaseError {
  return new SessionLeaseError(
    'lease_unavailable',
    `Another call to session ${key} is running${waitedMs === undefined ? '' : ` and did not end within ${waitedMs} ms`}. ` +
      'Nothing was stored. Call again when it has ended, wait longer (timeoutMs; limits.queueMs of an agent), or use another session.',
    { sessionKey: key.toString() },
  );
}
