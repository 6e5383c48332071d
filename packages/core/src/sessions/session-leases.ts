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

/** A request for a lease by a process. Stores keep it as one text: {@link claimText}. */
export interface LeaseClaim {
  /** Unique id of this claim. */
  readonly token: string;
  /** The id of the process: see {@link SessionProcesses}. */
  readonly process: string;
  /** The machine (since its last boot) or container in which `pid` is unique. Begins with the host name. */
  readonly host: string;
  readonly pid: number;
  /** Start time of the process as its kernel counts; empty if the platform does not report it. */
  readonly started: string;
  /** Milliseconds without a heartbeat after which the process counts as dead. */
  readonly ttlMs: number;
  /** ISO 8601, UTC, by the clock of the process. */
  readonly takenAt: string;
}

/** A lease that a process holds. */
export interface HeldLease extends LeaseClaim {
  /** Grows with every lease of the session. The holder with the largest fence is the valid one. */
  readonly fence: number;
}

/** The heartbeat record of a process. */
export interface ProcessRecord {
  /** Unique id of the process. If its heartbeats stop, it gets a new id before they start again. */
  readonly id: string;
  /** Milliseconds from this beat for which the process counts as alive, in a store with its own clock. */
  readonly ttlMs: number;
}

/** A note that one process sends to another. */
export interface ProcessNote {
  readonly id: string;
  /** One line of ASCII. */
  readonly text: string;
}

/**
 * The processes that use a store. Each process renews one record, however many leases it has. The response contains the notes from
 * other processes. A store and its collections share the same processes.
 */
export interface SessionProcesses {
  /**
   * Creates or renews the record of a process for `ttlMs` from now, and returns the notes to the process, in order. Deletes the notes
   * in `acknowledged`, which an earlier beat returned. All other notes are returned again by the next beat.
   */
  beat(process: ProcessRecord, acknowledged: readonly ProcessNote[]): Promise<readonly ProcessNote[]>;
  /**
   * Returns a number that changes with every beat of the process. Returns `undefined` if the process has no record or its record has
   * expired. A store without its own clock never expires records, so callers must watch the number.
   */
  look(process: string): Promise<number | undefined>;
  /** Sends a note to a process. Returns whether the process exists. */
  send(process: string, note: ProcessNote): Promise<boolean>;
  /** Deletes the record of a process and its notes. */
  retire(process: string): Promise<void>;
}

/**
 * Leases grant the exclusive right to run calls of a session. A lease is written once when it is acquired, and once when it is released. It
 * does not expire: another process takes it over when the holder's process is dead.
 */
export interface SessionLeases {
  readonly processes: SessionProcesses;
  /**
   * Takes a lease that is free, that this claim already has, or whose fence is `over`. Returns the new fence, which is larger than all
   * earlier ones, or `undefined` if another claim has the lease.
   */
  take(
    key: SessionKey,
    claim: LeaseClaim,
    options?: { readonly over?: number | undefined },
  ): Promise<number | undefined>;
  /**
   * Returns whether the lease still has the largest fence. A store that may lose its last writes, for example in a failover, writes
   * the lease again.
   */
  confirm(key: SessionKey, claim: LeaseClaim, fence: number): Promise<boolean>;
  /** Releases the lease of a claim. Does nothing if the claim does not have the lease. */
  release(key: SessionKey, claim: LeaseClaim): Promise<void>;
  /** Returns the current lease, if there is one. Changes nothing. */
  find(key: SessionKey): Promise<HeldLease | undefined>;
}

/** Serializes a claim as one line of text. The same claim always has the same text. */
export function claimText({ token, process, host, pid, started, ttlMs, takenAt }: LeaseClaim): string {
  return JSON.stringify({ token, process, host, pid, started, ttlMs, takenAt });
}

/** Parses the text of {@link claimText}. Any other text becomes a lease of an unknown process. */
export function heldLease(text: unknown, fence: number): HeldLease {
  const claim = claimSchema.safeParse(parsedJson(String(text))).data;
  const unknown = { token: '', process: '', host: '', pid: 0, started: '', ttlMs: 0, takenAt: '' };
  return { ...(claim ?? unknown), fence };
}
