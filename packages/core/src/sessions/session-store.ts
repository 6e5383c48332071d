import type { CompactionCost } from '../agent/compaction-cost.js';
import type { JsonObject } from '../lib/json.js';
import type { Message } from '../messages/message.js';
import type { Reach } from '../workspace/workspace.js';
import type { SessionKey, SessionScope } from './session-key.js';
import type { SessionLeases } from './session-leases.js';

/** A session as a store holds it. */
export interface StoredSession {
  /** The name of the commit that made it. The next change must expect it. No two commits share a name. */
  readonly token: string;
  /** The number of commits, from 1. For people: a session that was deleted and started again counts from 1 again. */
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
   * The name of this commit, see {@link operationId}, and the token of its result. You may send the same commit again after any
   * failure: a store remembers the last few and applies none twice.
   */
  readonly operation: string;
  /** The token that this change expects; `undefined` if the session must not exist. */
  readonly expected: string | undefined;
  readonly head: JsonObject;
  readonly keep: number;
  readonly append: readonly Message[];
  /** The fence of the writer's lease. The commit is refused if a newer lease exists. */
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
  /** What compactions of the session cost and saved; left out if there were none. */
  readonly compaction?: CompactionCost | undefined;
  /** Continues the listing after this session: see {@link ListOptions}. */
  readonly cursor: string;
}

/** Which sessions of a scope are listed. */
export interface ListOptions {
  /** Most sessions to list. Default: all. A listing that reaches this number does not report unreadable sessions. */
  readonly limit?: number | undefined;
  /** The `cursor` of a session. Lists only sessions after it. */
  readonly after?: string | undefined;
  /** Only sessions whose last commit is older. */
  readonly updatedBefore?: Date | undefined;
  /** Only sessions whose metadata has these values. The store reads all sessions of the scope to find them. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** How much of a session is loaded. */
export interface LoadOptions {
  /** Only this many of the last messages, for display. A change needs the whole session. */
  readonly last?: number | undefined;
}

/** Which state of a session is deleted. */
export interface DeleteOptions {
  /** Deletes only if this token is current, so that a newer commit stays. Default: deletes in any case. */
  readonly token?: string | undefined;
  /** Deletes only if the session is not leased. Default false. */
  readonly unlessLeased?: boolean | undefined;
  /** The fence of a lease to ignore, because its holder is dead. */
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
   * Applies the change atomically, or finds that it was applied before, and returns the new version.
   *
   * @throws {SessionConflictError} when another token is current; nothing was written.
   * @throws {InvalidInputError} when `keep` exceeds the stored messages, or a message is invalid; nothing was written.
   * @throws {SessionLeaseError} `lease_lost` when `fence` is not the newest; nothing was written.
   * @throws {SessionStoreError} whose `outcome` says if the change may have been applied.
   */
  commit(key: SessionKey, change: SessionChange): Promise<number>;
  /** Deletes a session with its lease and all its data. Returns whether the session existed. */
  delete(key: SessionKey, options?: DeleteOptions): Promise<boolean>;
  /**
   * Lists the sessions within a scope, newest first. An unreadable session does not hide others.
   *
   * @throws {InvalidInputError} for an unknown part of the scope, which must not mean all sessions, and for unknown or impossible options.
   * @throws {SessionStoreError} for sessions that cannot be read, after all others.
   */
  list(scope?: SessionScope, options?: ListOptions): AsyncIterable<SessionInfo>;
  /** Closes what the store itself opened. */
  close(): Promise<void>;
  /** The leases of sessions. Left out by stores that only one process can reach. */
  readonly leases?: SessionLeases | undefined;
  /**
   * Opens another set of records in the same place, such as the chats of a user interface. A collection has its own keys and the
   * guarantees of a store. A record in it is not a session: `list` of the store shows sessions alone. The first commit creates a
   * collection. It has no `collection` itself, and its `close` closes nothing. Left out by stores without collections.
   *
   * @throws {InvalidInputError} unless the name is a lower-case letter and up to 31 of a–z, 0–9 and `-`.
   */
  collection?(name: string): SessionStore;
  /** Lists the collections that contain records, for programs that erase, export or copy everything. Left out if `collection` is. */
  collections?(): AsyncIterable<string>;
}

/**
 * The log of a session: all its messages, in order, append-only. It is written before anything is reduced, so that removed messages
 * can be read again.
 */
export interface SessionLog {
  /** Location of the log, for people and for `read_file`; a workspace path if there is one. */
  readonly location: string;
  /** Appends the messages that the log does not have yet, by id. They are durable when it returns. */
  append(messages: readonly Message[]): Promise<void>;
  /** Reads all messages, oldest first. Skips a torn last line (a crash while writing). */
  read(): AsyncIterable<Message>;
  /** Returns the message with an id, if there is one. */
  get(messageId: string): Promise<Message | undefined>;
}
