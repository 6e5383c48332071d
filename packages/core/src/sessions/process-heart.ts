import { type Clock, steadyClock } from '../lib/clock.js';
import { hasEnded, thisProcess } from '../workspace/lock-holder.js';
import type { HeldLease, LeaseClaim, ProcessNote, SessionProcesses } from './session-leases.js';
import { operationId } from './store-rules.js';

/** Milliseconds of silence after which a process counts as dead, by default. */
export const PROCESS_TTL_MS = 5_000;
const BEAT_MS = 1_000;
/** Beats after which a process rests that holds nothing and waits for nothing. */
const IDLE_BEATS = 10;
/**
 * A record that is missing is looked for again so much later. Where the store stood still, records have expired of which the next beats
 * are on their way.
 */
const SECOND_LOOK_MS = 500;
/** What one pause between two looks counts at most: who stood still in between knows nothing of that time. */
const LONGEST_PAUSE_MS = 1_500;
/** Notes of which a second delivery is recognized, and processes that are watched. */
const REMEMBERED = 1_000;

/** A lease that this process holds. */
export interface HeldTurn {
  readonly claim: LeaseClaim;
  /** Returns whether the lease is still the newest; told when it is not. */
  confirm(): Promise<boolean>;
  /** Called when the process could not renew its record in time, and when its lease is confirmed again. */
  onUncertain(isOver: boolean): void;
}

interface Watch {
  readonly seen: number | undefined;
  /** When it was seen to beat. */
  readonly beatAt: number;
  /** When the last look was answered. */
  at: number;
  /** For how long the same was seen. */
  quietMs: number;
}

/** Keeps the record of this process in one store alive, and watches the records of others. */
export class ProcessHeart {
  #id = operationId();
  /** All that it ever had. */
  readonly #ids = new Set([this.#id]);
  readonly #processes: SessionProcesses;
  readonly #clock: Clock;
  #ttlMs = 0;
  /** Until when nobody can have taken this process for dead. */
  #certainUntil = Number.NEGATIVE_INFINITY;
  /** Counts the times at which that was over before the next beat was answered. */
  #lapses = 0;
  #lapsedAt = Number.NEGATIVE_INFINITY;
  #beating: { readonly sentAt: number; readonly done: Promise<void> } | undefined;
  #isRunning = false;
  #hasFailed = false;
  /** Claims that ask for a lease, by their tokens, with the lapses at that time. */
  readonly #asking = new Map<string, number>();
  readonly #turns = new Map<string, HeldTurn>();
  /** Turns whose leases may have been taken over. */
  readonly #doubtful = new Set<HeldTurn>();
  /** Those of them that know. */
  readonly #warned = new Set<HeldTurn>();
  /** Calls those who wait for a turn to be certain, or lost. */
  readonly #settled = new Set<() => void>();
  /** Releases that failed, and leases of which nobody knows whether they were granted. */
  readonly #unreleased = new Map<string, () => Promise<void>>();
  readonly #listeners = new Set<(note: ProcessNote, isLate: boolean) => void>();
  /** Notes that came, and that the store has not been told of. */
  #received: readonly ProcessNote[] = [];
  readonly #delivered = new Set<string>();
  readonly #watches = new Map<string, Watch>();

  constructor(processes: SessionProcesses, clock: Clock) {
    this.#processes = processes;
    this.#clock = clock;
  }

  /** The id of this process in the store. It changes when the process has rested. */
  get id(): string {
    return this.#id;
  }

  /** Makes a claim of this process. Its record is there before anybody can find the claim. */
  async claim(ttlMs: number): Promise<LeaseClaim> {
    this.#ttlMs = Math.max(this.#ttlMs, ttlMs);
    await this.#begin();
    // It went to rest in between.
    if (!this.#isRunning) await this.#begin();
    const token = operationId();
    this.#asking.set(token, this.#lapses);
    const takenAt = new Date().toISOString();
    return { ...thisProcess(), token, process: this.#id, ttlMs: this.#ttlMs, takenAt };
  }

  /** Keeps a lease that was granted to a claim. */
  hold(turn: HeldTurn): void {
    const { token } = turn.claim;
    const isCertain = this.#asking.get(token) === this.#lapses && this.#clock.now() < this.#certainUntil;
    this.#asking.delete(token);
    this.#turns.set(token, turn);
    if (!isCertain) this.#doubtful.add(turn);
  }

  /**
   * Forgets a claim.
   *
   * @param release Releases its lease, if it may have one. What the store does not hear now, it hears with a later beat.
   */
  async drop({ token }: LeaseClaim, release?: () => Promise<void>): Promise<void> {
    const turn = this.#turns.get(token);
    this.#asking.delete(token);
    this.#turns.delete(token);
    if (turn !== undefined) {
      this.#doubtful.delete(turn);
      this.#warned.delete(turn);
    }
    if (release === undefined) return;
    this.#unreleased.set(token, release);
    await this.#release(token, release);
  }

  /** Tests whether no other process can have taken over the lease of a turn. */
  isCertain(turn: HeldTurn): boolean {
    return this.#clock.now() < this.#certainUntil && !this.#doubtful.has(turn);
  }

  /** Resolves when the lease of a turn is confirmed, or lost; at the latest when the signal fires. */
  async settled(turn: HeldTurn, signal: AbortSignal): Promise<void> {
    // Now, where this process stood still. From then on the next beats tell.
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
   * @param listener Told, too, if a note came while this process was silent: who sent it may have taken it for dead since.
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

  /** Asks for notes now. */
  look(): Promise<void> {
    return this.#beat();
  }

  /** Sends a note, and returns whether there is such a process. */
  send(process: string, note: ProcessNote): Promise<boolean> {
    return this.#processes.send(process, note);
  }

  /**
   * Tests whether the process that holds a lease is dead, or has forgotten the lease.
   *
   * @param isPatient Watches until it is seen to beat, or dead. Default: one that may be alive is.
   */
  async isGone(holder: HeldLease, isPatient = false): Promise<boolean> {
    if (this.#ids.has(holder.process)) return !this.#knows(holder.token);
    if (hasEnded(holder)) return true;
    for (let looks = 0; ; looks++) {
      const { seen, beatAt, isDead } = await this.#watch(holder);
      const isAlive = seen !== undefined && (!isPatient || this.#clock.now() - beatAt < holder.ttlMs);
      if (isDead || isAlive) return isDead;
      if (!isPatient && looks > 0) return false;
      // A timer may be a moment early.
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
    // Later than its answer may have been sent, so that it never seems to have been quiet for longer than it was.
    watch.quietMs += Math.min(askedAt - watch.at, LONGEST_PAUSE_MS);
    watch.at = this.#clock.now();
    this.#watches.delete(process);
    this.#watches.set(process, watch);
    const oldest = this.#watches.keys().next().value;
    if (this.#watches.size > REMEMBERED && oldest !== undefined) this.#watches.delete(oldest);
    // Where this process could not beat either, the others' beats may take longer to come.
    const isStoreBack = this.#clock.now() < this.#certainUntil && askedAt - this.#lapsedAt > this.#ttlMs;
    const needed = seen === undefined && (isStoreBack || !this.#isRunning) ? SECOND_LOOK_MS : ttlMs;
    return { ...watch, isDead: watch.quietMs >= needed };
  }

  #knows(token: string): boolean {
    return this.#asking.has(token) || this.#turns.has(token);
  }

  async #begin(): Promise<void> {
    if (this.#clock.now() >= this.#certainUntil) await this.#beat();
    if (!this.#isRunning) void this.#run();
  }

  /** Beats for as long as there is a reason. */
  async #run(): Promise<void> {
    this.#isRunning = true;
    const isUsed = () => this.#asking.size + this.#turns.size + this.#listeners.size > 0;
    for (let idle = 0; idle < IDLE_BEATS; idle = isUsed() ? 0 : idle + 1) {
      await this.#clock.sleep(Math.min(BEAT_MS, this.#ttlMs / 5), { background: true });
      const isSilent = this.#hasFailed || this.#beating !== undefined;
      this.#beat().catch(() => {});
      if (isSilent && !isUsed()) break;
      if (isSilent && this.#clock.now() >= this.#certainUntil) this.#warn();
    }
    // Another id from here on: a beat and the end of the record may arrive in any order.
    const id = this.#id;
    this.#id = operationId();
    this.#ids.add(this.#id);
    this.#isRunning = false;
    this.#certainUntil = Number.NEGATIVE_INFINITY;
    await this.#processes.retire(id).catch(() => {});
  }

  /** Beats, unless a beat is on its way that may still be answered. */
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
    // What the store does not say now, it says with the next beat.
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
      // Again with the next beat. Once this process rests, others take it for dead.
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
 * The heart of this process in a store: one for the store, its collections, and what wraps them.
 *
 * @param clock Measures how long something takes; for the first who asks. Default: a clock that is never set.
 */
export function heartOf(processes: SessionProcesses, clock: Clock = steadyClock): ProcessHeart {
  const heart = hearts.get(processes) ?? new ProcessHeart(processes, clock);
  hearts.set(processes, heart);
  return heart;
}
