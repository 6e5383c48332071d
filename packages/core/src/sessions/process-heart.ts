import { type Clock, steadyClock } from '../lib/clock.js';
import { RecentMap } from '../lib/recent-map.js';
import { hasEnded, thisProcess } from '../workspace/lock-holder.js';
import type { HeldLease, LeaseClaim, ProcessNote, SessionProcesses } from './session-leases.js';
import { operationId } from './store-rules.js';

/** Default milliseconds without a heartbeat after which a process counts as dead. */
export const PROCESS_TTL_MS = 5_000;
const BEAT_MS = 1_000;
/** Number of beats after which a process without claims, turns or listeners stops beating. */
const IDLE_BEATS = 10;
/**
 * Milliseconds after which a missing process record is looked up again. After an outage of the store, records may have expired although the
 * next heartbeats of their processes are on the way.
 */
const SECOND_LOOK_MS = 500;
/**
 * Maximum number of milliseconds without a heartbeat that are counted between two look-ups of a process record. This process may have been
 * suspended between the look-ups. Then it does not know whether the other process was silent.
 */
const LONGEST_PAUSE_MS = 1_500;
/** Maximum number of remembered ids of delivered notes, and of remembered processes. */
const REMEMBERED = 1_000;

/** A turn of this process. The store granted it the lease that `claim` asks for. */
export interface HeldTurn {
  readonly claim: LeaseClaim;
  /** Returns whether the lease is still the newest. Aborts the turn if it is not. */
  confirm(): Promise<boolean>;
  /**
   * Called when this process could not renew its record in time, so another process may have taken the lease. Called again with `isOver`
   * when the lease is confirmed.
   */
  onUncertain(isOver: boolean): void;
}

/** What this process has observed of another process. */
interface Watch {
  /** The number that changes with every heartbeat; `undefined` if the process had no record. */
  readonly seen: number | undefined;
  /** Time of the last look that saw a new heartbeat; `-Infinity` if none was seen. */
  readonly beatAt: number;
  /** Time of the store's last response to a look-up of the process. */
  at: number;
  /** Milliseconds for which `seen` has not changed. */
  quietMs: number;
}

/** Keeps the record of this process in one store alive, and watches the records of others. */
export class ProcessHeart {
  #id = operationId();
  /** All ids that this process has had. */
  readonly #ids = new Set([this.#id]);
  readonly #processes: SessionProcesses;
  readonly #clock: Clock;
  #ttlMs = 0;
  /** Until this time, no other process can have treated this one as dead. */
  #certainUntil = Number.NEGATIVE_INFINITY;
  /**
   * Number of lapses. In a lapse, other processes may treat this one as dead: it begins at `#certainUntil`, and ends with the next answered
   * heartbeat. The time before the first heartbeat of each `#id` counts as one, too.
   */
  #lapses = 0;
  /** Time at which the last lapse ended, not counting lapses before a first heartbeat. `-Infinity` if there was none. */
  #lapsedAt = Number.NEGATIVE_INFINITY;
  /** The newest heartbeat, until it is answered. */
  #beating: { readonly sentAt: number; readonly done: Promise<void> } | undefined;
  #isRunning = false;
  #hasFailed = false;
  /** Tokens of claims that have no turn yet, with the value of `#lapses` when the claim was made. */
  readonly #openClaims = new Map<string, number>();
  /** Turns by the tokens of their claims. */
  readonly #turns = new Map<string, HeldTurn>();
  /** Turns whose leases may have been taken over in a lapse, until the store says who has each lease. */
  readonly #doubtful = new Set<HeldTurn>();
  /** Turns whose `onUncertain(false)` was called, until the lease is confirmed or lost. */
  readonly #warned = new Set<HeldTurn>();
  /** Wakes callers that wait until a turn is certain or lost. */
  readonly #settled = new Set<() => void>();
  /** Functions that release the leases of dropped claims, by token, until they succeed. Every heartbeat retries them. */
  readonly #unreleased = new Map<string, () => Promise<void>>();
  readonly #listeners = new Set<(note: ProcessNote, isLate: boolean) => void>();
  /** Received notes that have not been acknowledged to the store. */
  #received: readonly ProcessNote[] = [];
  readonly #delivered = new Set<string>();
  readonly #watches = new RecentMap<string, Watch>(REMEMBERED);

  constructor(processes: SessionProcesses, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** The id of this process in the store. It changes whenever heartbeats stop because they are not needed. */
  get id(): string {
    return this.#id;
  }

  /** Makes a claim of this process. The process record exists before others can find the claim. */
  async claim(ttlMs: number): Promise<LeaseClaim> {
    this.#ttlMs = Math.max(this.#ttlMs, ttlMs);
    await this.#begin();
    // While the first `#begin` waited for the store, unused heartbeats may have stopped.
    if (!this.#isRunning) await this.#begin();
    const token = operationId();
    this.#openClaims.set(token, this.#lapses);
    const takenAt = new Date().toISOString();
    return { ...thisProcess(), token, process: this.#id, ttlMs: this.#ttlMs, takenAt };
  }

  /** Replaces a claim by its turn, when the lease was granted. */
  hold(turn: HeldTurn): void {
    const { token } = turn.claim;
    const isCertain = this.#openClaims.get(token) === this.#lapses && this.#clock.now() < this.#certainUntil;
    this.#openClaims.delete(token);
    this.#turns.set(token, turn);
    if (!isCertain) this.#doubtful.add(turn);
  }

  /**
   * Forgets a claim and its turn.
   *
   * @param release Releases the lease of the claim. Omit it if the lease was certainly not granted. If the store is unavailable, a later
   * heartbeat retries the release.
   */
  async drop({ token }: LeaseClaim, release?: () => Promise<void>): Promise<void> {
    const turn = this.#turns.get(token);
    this.#openClaims.delete(token);
    this.#turns.delete(token);
    if (turn !== undefined) {
      this.#doubtful.delete(turn);
      this.#warned.delete(turn);
    }
    if (release === undefined) return;
    this.#unreleased.set(token, release);
    await this.#release(token, release);
  }

  /** Number of lapses that have ended: times in which other processes could treat this one as dead. A write during a lapse may be lost. */
  get lapses(): number {
    return this.#lapses;
  }

  /** Tests if no other process can have taken over the lease of a turn. */
  isCertain(turn: HeldTurn): boolean {
    return this.#clock.now() < this.#certainUntil && !this.#doubtful.has(turn);
  }

  /** Resolves when the lease of a turn is confirmed or lost, or when the signal fires. */
  async settled(turn: HeldTurn, signal: AbortSignal): Promise<void> {
    // Beat now, because this process may have been suspended. Later heartbeats wake the loop.
    this.#beat().catch(() => {});
    while (!signal.aborted && this.#turns.has(turn.claim.token) && !this.isCertain(turn)) {
      await new Promise<void>((resolve) => {
        const settle = () => {
          this.#settled.delete(settle);
          signal.removeEventListener('abort', settle);
          resolve();
        };
        this.#settled.add(settle);
        signal.addEventListener('abort', settle, { once: true });
      });
    }
  }

  /**
   * Receives the notes to this process, until the returned function is called.
   *
   * @param listener Called with each note. `isLate` is true if this process had missed its heartbeats, so the sender may have
   * treated it as dead.
   * @throws {SessionStoreError} when the store does not answer.
   */
  async listen(listener: (note: ProcessNote, isLate: boolean) => void): Promise<() => void> {
    this.#ttlMs ||= PROCESS_TTL_MS;
    this.#listeners.add(listener);
    await this.#begin().catch((error) => {
      this.#listeners.delete(listener);
      throw error;
    });
    return () => void this.#listeners.delete(listener);
  }

  /** Beats now, to receive notes. */
  look(): Promise<void> {
    return this.#beat();
  }

  /** Sends a note. Returns whether the process exists. */
  send(process: string, note: ProcessNote): Promise<boolean> {
    return this.#processes.send(process, note);
  }

  /**
   * Tests if the process that holds a lease is dead, or has forgotten the lease.
   *
   * @param isPatient Watches until a heartbeat is seen or the process is dead. Default: a process that may be alive counts as alive.
   */
  async isGone(holder: HeldLease, isPatient = false): Promise<boolean> {
    if (this.#ids.has(holder.process)) return !this.#knows(holder.token);
    if (hasEnded(holder)) return true;
    for (let looks = 0; ; looks++) {
      const { seen, beatAt, isDead } = await this.#watch(holder);
      const isAlive = seen !== undefined && (!isPatient || this.#clock.now() - beatAt < holder.ttlMs);
      if (isDead || isAlive) return isDead;
      if (!isPatient && looks > 0) return false;
      // A timer may fire slightly early.
      await this.#clock.sleep(SECOND_LOOK_MS + 10);
    }
  }

  async #watch({ process, ttlMs }: HeldLease): Promise<Watch & { readonly isDead: boolean }> {
    const askedAt = this.#clock.now();
    const seen = await this.#processes.look(process);
    const known = this.#watches.get(process);
    const beatAt =
      known?.seen === undefined || seen === undefined ? Number.NEGATIVE_INFINITY : this.#clock.now();
    const watch =
      known !== undefined && known.seen === seen ? known : { seen, beatAt, at: askedAt, quietMs: 0 };
    // Count the time between the last response and this request. It is never longer than the real time without a heartbeat.
    watch.quietMs += Math.min(askedAt - watch.at, LONGEST_PAUSE_MS);
    watch.at = this.#clock.now();
    this.#watches.set(process, watch);
    // Soon after a lapse of this process, the store may have been down, so the heartbeats of other processes may be late, too.
    const isStoreBack = this.#clock.now() < this.#certainUntil && askedAt - this.#lapsedAt > this.#ttlMs;
    const needed = seen === undefined && (isStoreBack || !this.#isRunning) ? SECOND_LOOK_MS : ttlMs;
    return { ...watch, isDead: watch.quietMs >= needed };
  }

  #knows(token: string): boolean {
    return this.#openClaims.has(token) || this.#turns.has(token);
  }

  async #begin(): Promise<void> {
    if (this.#clock.now() >= this.#certainUntil) await this.#beat();
    if (!this.#isRunning) void this.#run();
  }

  /** Beats while there are claims, turns or listeners, and at most `IDLE_BEATS` more times. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    const isUsed = () => this.#openClaims.size + this.#turns.size + this.#listeners.size > 0;
    for (let idle = 0; idle < IDLE_BEATS; idle = isUsed() ? 0 : idle + 1) {
      await this.#clock.sleep(Math.min(BEAT_MS, this.#ttlMs / 5), { background: true });
      const isStoreSilent = this.#hasFailed || this.#beating !== undefined;
      this.#beat().catch(() => {});
      if (isStoreSilent && !isUsed()) break;
      if (isStoreSilent && this.#clock.now() >= this.#certainUntil) this.#warn();
    }
    // Take a new id, because the last beat and the deletion of the record may arrive in any order.
    const id = this.#id;
    this.#id = operationId();
    this.#ids.add(this.#id);
    this.#isRunning = false;
    this.#certainUntil = Number.NEGATIVE_INFINITY;
    await this.#processes.retire(id).catch(() => {});
  }

  /** Beats. If an earlier beat may still be answered, waits for that answer instead. */
  #beat(): Promise<void> {
    const sentAt = this.#clock.now();
    if (this.#beating !== undefined && sentAt - this.#beating.sentAt < this.#ttlMs) return this.#beating.done;
    const beating = { sentAt, done: this.#beatOnce(sentAt) };
    this.#beating = beating;
    const settle = (hasFailed: boolean) => {
      this.#hasFailed = hasFailed;
      if (this.#beating === beating) this.#beating = undefined;
      for (const settled of [...this.#settled]) settled();
    };
    return beating.done.then(
      () => settle(false),
      (error) => {
        settle(true);
        throw error;
      },
    );
  }

  async #beatOnce(sentAt: number): Promise<void> {
    const id = this.#id;
    // This beat lets the store delete the notes that the last beat returned.
    const acknowledged = this.#received;
    const notes = await this.#processes.beat({ id, ttlMs: this.#ttlMs }, acknowledged);
    if (this.#id !== id) return;
    const isUncertain = this.#clock.now() >= this.#certainUntil;
    const isLate = isUncertain && this.#certainUntil > 0;
    if (isUncertain) {
      this.#lapses++;
      if (isLate) this.#lapsedAt = this.#clock.now();
      for (const turn of this.#turns.values()) this.#doubtful.add(turn);
    }
    this.#certainUntil = Math.max(this.#certainUntil, sentAt + this.#ttlMs);
    this.#receive(notes, acknowledged, isLate);
    await Promise.all([...this.#doubtful].map((turn) => this.#confirm(turn)));
    for (const [token, release] of this.#unreleased) void this.#release(token, release);
  }

  async #confirm(turn: HeldTurn): Promise<void> {
    // If the store is unavailable, the next beat confirms the lease.
    const isOurs = await turn.confirm().catch(() => undefined);
    if (isOurs === undefined || !this.#doubtful.delete(turn)) return;
    if (this.#warned.delete(turn) && isOurs) turn.onUncertain(true);
  }

  #warn(): void {
    for (const turn of this.#turns.values()) {
      if (this.#warned.has(turn)) continue;
      this.#warned.add(turn);
      turn.onUncertain(false);
    }
  }

  async #release(token: string, release: () => Promise<void>): Promise<void> {
    try {
      await release();
      this.#unreleased.delete(token);
    } catch {
      // The next beat retries. Once this process stops beating, others treat it as dead.
    }
  }

  #receive(notes: readonly ProcessNote[], acknowledged: readonly ProcessNote[], isLate: boolean): void {
    const isKnown = (note: ProcessNote) => acknowledged.some(({ id }) => id === note.id);
    this.#received = notes.filter((note) => !isKnown(note));
    for (const note of this.#received) {
      if (this.#delivered.has(note.id)) continue;
      this.#delivered.add(note.id);
      const [oldest] = this.#delivered;
      if (this.#delivered.size > REMEMBERED && oldest !== undefined) this.#delivered.delete(oldest);
      for (const listener of this.#listeners) listener(note, isLate);
    }
  }
}

const hearts = new WeakMap<SessionProcesses, ProcessHeart>();

/**
 * Returns the object that sends the heartbeats of this process to a store. It is the same for the store, its collections and its wrappers.
 *
 * @param clock Measures durations; only the first caller's clock is used. Default: a monotonic clock.
 */
export function heartOf(processes: SessionProcesses, clock: Clock = steadyClock): ProcessHeart {
  const heart = hearts.get(processes) ?? new ProcessHeart(processes, clock);
  hearts.set(processes, heart);
  return heart;
}
