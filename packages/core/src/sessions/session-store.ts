import type { CompactionCost } from '../agent/compaction-cost.js';
import type { JsonObject } from '../lib/json.js';
import type { Message } from '../messages/message.js';
import type { Reach } from '../workspace/workspace.js';
import type { SessionKey, SessionScope } from './session-key.js';
import type { SessionLeases } from './session-leases.js';

/** A session as a store holds it. */
export interface StoredSession {
  /** Names the commit that made it: what the next change has to expect. No two commits have the same. */
  readonly token: string;
  /** Counts the commits, 1 for the first. For people: a session that was deleted and begun again counts from 1 again. */
  readonly version: number;
  /** The agent's state without its context. Opaque to stores. */
  readonly head: JsonObject;
  readonly messages: readonly Message[];
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
}

/**
 * One atomic change: the new message list is the first `keep` stored messages followed by `append`. A turn that only
 * adds messages keeps all of them; a compaction usually keeps none.
 */
export interface SessionChange {
  /**
   * Names this commit, see {@link operationId}; it is the token of what it makes. The same commit may be sent again, after
   * any failure and also after commits of others: a store remembers the last few and applies none of them twice.
   */
  readonly operation: string;
  /** The token of what this change was made for; `undefined` when the session must not exist. */
  readonly expected: string | undefined;
  readonly head: JsonObject;
  readonly keep: number;
  readonly append: readonly Message[];
  /** The fence of the lease under which this is written: refused once a newer lease has been granted. */
  readonly fence?: number | undefined;
}

/** A session as a listing shows it. */
export interface SessionInfo {
  readonly key: SessionKey;
  readonly version: number;
  /** ISO 8601, UTC. */
  readonly createdAt: string;
  /** Time of the last commit. ISO 8601, UTC. */
  readonly updatedAt: string;
  /** Number of messages. */
  readonly messages: number;
  /** Size of the messages as JSON. */
  readonly bytes: number;
  /** See `AgentState.title`. */
  readonly title?: string | undefined;
  /** See `AgentState.metadata`. */
  readonly metadata: JsonObject;
  /** What compactions of the session cost and saved; left out where they did neither. */
  readonly compaction?: CompactionCost | undefined;
  /** Goes on behind this session: see {@link ListOptions}. */
  readonly cursor: string;
}

/** Which sessions of a scope are listed. */
export interface ListOptions {
  /** Number of sessions at most. Default: all. A listing that reaches it does not report what cannot be read. */
  readonly limit?: number | undefined;
  /** The `cursor` of a session: only those behind it. */
  readonly after?: string | undefined;
  /** Only sessions whose last commit is older. */
  readonly updatedBefore?: Date | undefined;
  /** Only sessions whose metadata has these values. Read over, not looked up: a scope keeps that short. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined;
  /** Also sessions that have expired, if the store still holds their data: to erase it. Default false. */
  readonly expired?: boolean | undefined;
}

/** How much of a session is loaded. */
export interface LoadOptions {
  /** Only the last so many messages, as for display. A change is made of a whole session. */
  readonly last?: number | undefined;
}

/** Which state of a session is deleted. */
export interface DeleteOptions {
  /** Only that of this token: what someone committed since it was looked at stays. Default: whatever there is. */
  readonly token?: string | undefined;
  /** Only if nobody has the session's lease. Nothing is deleted else, and it needs no room. Default false. */
  readonly unlessLeased?: boolean | undefined;
  /** The fence of a lease that counts as none, as its holder is dead. */
  readonly over?: number | undefined;
}

/**
 * Storage for sessions. `sessionStoreSuite` of `@x/testkit/suites` proves implementations.
 *
 * A store never closes a client that it did not open.
 */
export interface SessionStore {
  readonly reach: Reach;
  /**
   * Loads a session; `undefined` when it does not exist.
   *
   * @throws {InvalidInputError} for impossible options.
   * @throws {SessionStoreError} when it cannot be read; never `undefined` instead of a failure.
   */
  load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined>;
  /**
   * Applies the change atomically, or finds that it has been applied, and answers the version that it made.
   *
   * @throws {SessionConflictError} when another token is current; nothing was written.
   * @throws {InvalidInputError} when `keep` exceeds the stored messages, or a message is none; nothing was written.
   * @throws {SessionLeaseError} `lease_lost` when `fence` is not the newest; nothing was written.
   * @throws {SessionStoreError} whose `outcome` tells whether it may have been applied nevertheless.
   */
  commit(key: SessionKey, change: SessionChange): Promise<number>;
  /** Deletes a session with all that belongs to it, its lease too. Returns whether there was one. */
  delete(key: SessionKey, options?: DeleteOptions): Promise<boolean>;
  /**
   * Lists the sessions within a scope, the last changed first. One that cannot be read hides no other.
   *
   * @throws {InvalidInputError} for an unknown part of the scope, which must not mean all sessions, and for unknown or impossible options.
   * @throws {SessionStoreError} for sessions that cannot be read, after all others.
   */
  list(scope?: SessionScope, options?: ListOptions): AsyncIterable<SessionInfo>;
  /** Releases what the store itself opened. */
  close(): Promise<void>;
  /** The leases of the sessions' turns. Left out by stores that only one process can reach. */
  readonly leases?: SessionLeases | undefined;
  /**
   * Opens another set of records in the same place, such as the chats of a user interface. A collection has the guarantees of
   * a store, by keys of its own, but a record in it is not a session: `list` of a store shows sessions alone, `list` of a
   * collection shows its records alone. A collection is made when something is committed to it; it has no `collection` of its
   * own, and its `close` closes nothing. Left out by stores without collections.
   *
   * @throws {InvalidInputError} unless the name is a lower-case letter and up to 31 of a–z, 0–9 and `-`.
   */
  collection?(name: string): SessionStore;
  /** Names the collections that hold something: for a program that erases, exports or copies all. Left out where `collection` is. */
  collections?(): AsyncIterable<string>;
}

/**
 * The log of a session: every message that ever was, in order, lossless, append-only. It is written before anything is
 * reduced, so that whatever a compaction removes can be read again.
 */
export interface SessionLog {
  /** Location of the log, for people and for `read_file`; a workspace path if there is one. */
  readonly location: string;
  /** Appends those messages that the log does not hold yet, by id. Durable when it returns. */
  append(messages: readonly Message[]): Promise<void>;
  /** All messages, oldest first. A torn last line (a crash while writing) is left out. */
  read(): AsyncIterable<Message>;
  /** One message by its id. */
  get(messageId: string): Promise<Message | undefined>;
}
