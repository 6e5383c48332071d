import * as z from 'zod';
import { parsedJson } from '../lib/json.js';
import type { SessionKey } from './session-key.js';

const claimSchema = z.object({
  token: z.string(),
  process: z.string(),
  host: z.string(),
  pid: z.number(),
  started: z.string(),
  ttlMs: z.number(),
  takenAt: z.string(),
});

/** Who asks for a lease, or holds it. Stores keep it as one text: {@link claimText}. */
export interface LeaseClaim {
  /** Names this one claim: no two have the same. */
  readonly token: string;
  /** The id of the process: see {@link SessionProcesses}. */
  readonly process: string;
  /** The space in which `pid` means something: a machine since it booted, or a container on it. Begins with the name of the host. */
  readonly host: string;
  readonly pid: number;
  /** When the process began, as its kernel counts; empty where the platform does not say. */
  readonly started: string;
  /** Milliseconds of silence after which the process counts as dead. */
  readonly ttlMs: number;
  /** ISO 8601, UTC, by the clock of the process. */
  readonly takenAt: string;
}

/** A lease that a process holds. */
export interface HeldLease extends LeaseClaim {
  /** Grows with every lease of the session. The holder with the largest fence is the rightful one. */
  readonly fence: number;
}

/** A process that beats. */
export interface ProcessRecord {
  /** Names the process, and no other, for as long as it beats. */
  readonly id: string;
  /** Milliseconds from this beat for which the process counts as alive, in a store with a clock of its own. */
  readonly ttlMs: number;
}

/** What one process sends another. */
export interface ProcessNote {
  readonly id: string;
  /** One line of ASCII. */
  readonly text: string;
}

/**
 * The processes that use a store. Each renews one record, whatever the number of its leases, and finds in the answer what others have
 * sent it. A store and its collections have the same processes.
 */
export interface SessionProcesses {
  /**
   * Renews the record of a process for `ttlMs` from now, or makes it, and answers the notes to the process, in order. Those in
   * `acknowledged`, which an earlier beat has answered, are removed; the others come again with the next beat.
   */
  beat(process: ProcessRecord, acknowledged: readonly ProcessNote[]): Promise<readonly ProcessNote[]>;
  /**
   * Returns a number that changes with every beat of the process; `undefined` when the store knows no such process, or none that has
   * beaten in its time. A store without a clock of its own never forgets a process: whoever asks watches the number.
   */
  look(process: string): Promise<number | undefined>;
  /** Leaves a note for a process, and returns whether there is such a process. */
  send(process: string, note: ProcessNote): Promise<boolean>;
  /** Removes the record of a process, with the notes to it. */
  retire(process: string): Promise<void>;
}

/**
 * The right to run a session's turns. It is written once when it is taken, and once when it is released. It does not expire: another
 * process takes it over when the holder's process is dead.
 */
export interface SessionLeases {
  readonly processes: SessionProcesses;
  /**
   * Takes a lease that nobody has, that this very claim has already, or whose fence is `over`, and answers the new fence, which is
   * larger than any before it. `undefined` when another claim has it.
   */
  take(
    key: SessionKey,
    claim: LeaseClaim,
    options?: { readonly over?: number | undefined },
  ): Promise<number | undefined>;
  /**
   * Returns whether the store knows of no larger fence. A store that may forget its last writes, as after a failover, writes the lease
   * down again.
   */
  confirm(key: SessionKey, claim: LeaseClaim, fence: number): Promise<boolean>;
  /** Gives up the lease of a claim. Does nothing when the claim does not have it. */
  release(key: SessionKey, claim: LeaseClaim): Promise<void>;
  /** Finds who has the lease. Asking takes nothing and changes nothing. */
  find(key: SessionKey): Promise<HeldLease | undefined>;
}

/** A claim as one line of text, the same for the same claim. */
export function claimText({ token, process, host, pid, started, ttlMs, takenAt }: LeaseClaim): string {
  return JSON.stringify({ token, process, host, pid, started, ttlMs, takenAt });
}

/** The inverse of {@link claimText}. A text that it did not write is a lease whose process nobody knows. */
export function heldLease(text: unknown, fence: number): HeldLease {
  const claim = claimSchema.safeParse(parsedJson(String(text))).data;
  const unknown = { token: '', process: '', host: '', pid: 0, started: '', ttlMs: 0, takenAt: '' };
  return { ...(claim ?? unknown), fence };
}
