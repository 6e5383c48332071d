import type { SessionKey } from '@x/core';
import { HarnessError } from '../errors/harness-error.js';
import type { ParsedSettings } from './agent-parts.js';

const SHORTEST_RETRY_MS = 1_000;
const LONGEST_RETRY_MS = 60_000;
/** Assumed mean duration of a call, in milliseconds, until the first call has ended. */
const FIRST_MEAN_MS = 2_000;
/** Weight of the latest call in the moving mean of call durations. */
const WEIGHT = 0.1;

/** A tenant or a user, with its numbers of running and waiting calls. */
interface Owner {
  readonly name: string;
  running: number;
  waiting: number;
}

type Stage = 'running' | 'waiting';

/** A call that waits for a slot, or has one. */
export interface Ticket {
  /** Resolves once the call has its slot. Rejects if the call is refused. */
  readonly placed: Promise<void>;
  /** Marks the call as ready, because its session is free. */
  ready(): void;
  /** Releases the slot until the call is ready again. {@link Ticket.placed} is then a new promise. */
  stepBack(): void;
  /** Releases the slot, or leaves the queue. */
  leave(): void;
  /** Returns the error of a call that timed out while it waited for a slot; `undefined` if it waited for its session. */
  tooLong(): HarnessError | undefined;
}

/** A call in the queue. */
interface Entry {
  readonly tenant: Owner;
  readonly user: Owner;
  /** Maximum number of running calls of the user. */
  readonly most: number;
  admit: () => void;
  refuse: (error: unknown) => void;
  isReady: boolean;
}

export type AdmissionSettings = Pick<ParsedSettings, 'maxRunningCalls' | 'maxWaitingCalls' | 'perUser'>;

/**
 * Assigns an agent's slots to calls, and queues the other calls. A free slot goes to the tenant with the fewest running calls, then to its
 * user with the fewest, then to the oldest call. If the queue is full, the newest call of the tenant or user with the most waiting calls is
 * refused; this may be the new call itself. So no tenant can take all slots.
 */
export class Admission {
  readonly #settings: AdmissionSettings;
  /** Waiting calls in order of arrival. */
  readonly #line = new Set<Entry>();
  /** Tenants and users that have calls. */
  readonly #owners = new Map<string, Owner>();
  #running = 0;
  #meanMs = FIRST_MEAN_MS;

  constructor(settings: AdmissionSettings) {
    this.#settings = settings;
  }

  get running(): number {
    return this.#running;
  }

  get waiting(): number {
    return this.#line.size;
  }

  /** Whether a new call would be refused, unless another tenant or user has more waiting calls. */
  get isFull(): boolean {
    return this.waiting >= this.#settings.maxWaitingCalls && this.#running >= this.#places;
  }

  get #places(): number {
    return this.#settings.maxRunningCalls || Number.POSITIVE_INFINITY;
  }

  /**
   * Starts a call at once if a slot is free. Otherwise queues it.
   *
   * @param isReady Whether its session is free, so that the call could start at once.
   * @throws {HarnessError} `overloaded` if the queue is full.
   */
  enter({ parts: { tenantId, userId } }: SessionKey, isReady: boolean): Ticket {
    // `perUser` does not apply to calls without a user.
    const most = (userId !== undefined && this.#settings.perUser) || Number.POSITIVE_INFINITY;
    let startedAt: number | undefined;
    let placed = Promise.resolve();
    const tenant = this.#ownerOf(JSON.stringify([tenantId]));
    const user = this.#ownerOf(JSON.stringify([tenantId, userId]));
    const entry: Entry = { tenant, user, most, admit() {}, refuse() {}, isReady };
    const line = () => {
      placed = new Promise((resolve, refuse) => {
        entry.admit = () => {
          startedAt = performance.now();
          resolve();
        };
        entry.refuse = refuse;
      });
      // A call that has left the queue no longer awaits this promise: ignore its rejection.
      placed.catch(() => {});
      this.#line.add(entry);
      this.#count(entry, 'waiting', 1);
      this.#fill();
    };
    const giveBack = () => {
      this.#running--;
      this.#count(entry, 'running', -1);
      startedAt = undefined;
    };
    if (!isReady || !this.#hasPlace(entry)) this.#makeRoom(entry);
    line();
    return {
      get placed() {
        return placed;
      },
      ready: () => {
        entry.isReady = true;
        this.#fill();
      },
      stepBack: () => {
        if (startedAt === undefined) return;
        entry.isReady = false;
        giveBack();
        line();
      },
      leave: () => {
        if (startedAt === undefined) this.#remove(entry);
        else {
          this.#meanMs += WEIGHT * (performance.now() - startedAt - this.#meanMs);
          giveBack();
        }
        this.#fill();
      },
      tooLong: () => (entry.isReady ? this.#overloaded() : undefined),
    };
  }

  /** Refuses all waiting calls. */
  refuseAll(error: unknown): void {
    for (const entry of this.#line) this.#refuse(entry, error);
  }

  /** Assigns free slots to ready calls, those with the fewest running calls first. */
  #fill(): void {
    while (this.#running < this.#places) {
      let next: Entry | undefined;
      for (const entry of this.#line) {
        if (!entry.isReady || !this.#hasPlace(entry)) continue;
        if (next === undefined || compare(entry, next, 'running') < 0) next = entry;
      }
      if (next === undefined) return;
      this.#remove(next);
      this.#running++;
      this.#count(next, 'running', 1);
      next.admit();
    }
  }

  #hasPlace({ user, most }: Entry): boolean {
    return this.#running < this.#places && user.running < most;
  }

  #makeRoom(newcomer: Entry): void {
    if (this.waiting < this.#settings.maxWaitingCalls) return;
    let last = newcomer;
    this.#count(newcomer, 'waiting', 1);
    for (const entry of this.#line) {
      const order = compare(entry, last, 'waiting');
      // On a tie, refuse the new call, because the others arrived first.
      if (order > 0 || (order === 0 && last !== newcomer)) last = entry;
    }
    this.#count(newcomer, 'waiting', -1);
    const error = this.#overloaded();
    if (last === newcomer) throw error;
    this.#refuse(last, error);
  }

  #refuse(entry: Entry, error: unknown): void {
    this.#remove(entry);
    entry.refuse(error);
  }

  #remove(entry: Entry): void {
    if (this.#line.delete(entry)) this.#count(entry, 'waiting', -1);
  }

  #overloaded(): HarnessError {
    const { maxRunningCalls, maxWaitingCalls } = this.#settings;
    const expected = ((this.waiting + 1) / this.#places) * this.#meanMs;
    const bounded = Math.min(LONGEST_RETRY_MS, Math.max(SHORTEST_RETRY_MS, expected));
    // Adds jitter, so that calls that were refused together do not retry together.
    const retryAfterMs = Math.round(bounded * (1 + Math.random() / 2));
    return new HarnessError(
      'overloaded',
      `The agent has ${this.#running} running and ${this.waiting} waiting calls (maxRunningCalls ${maxRunningCalls}, maxWaitingCalls ` +
        `${maxWaitingCalls}), and rejects new calls. Nothing was stored; call again in ${retryAfterMs} ms, or call another instance.`,
      { retryAfterMs },
    );
  }

  #ownerOf(name: string): Owner {
    return this.#owners.get(name) ?? { name, running: 0, waiting: 0 };
  }

  #count({ tenant, user }: Entry, stage: Stage, by: number): void {
    for (const owner of [tenant, user]) {
      owner[stage] += by;
      if (owner.running + owner.waiting === 0) this.#owners.delete(owner.name);
      else this.#owners.set(owner.name, owner);
    }
  }
}

/** Compares numbers of calls: first those of the tenants, then those of the users. */
function compare(left: Entry, right: Entry, stage: Stage): number {
  return left.tenant[stage] - right.tenant[stage] || left.user[stage] - right.user[stage];
}
