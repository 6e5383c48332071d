import type { CompactionCost } from '../agent/compaction-cost.js';
import type { JsonObject } from '../lib/json.js';
import type { Message } from '../messages/message.js';
import type { Reach } from '../workspace/workspace.js';
import type { SessionKey, SessionScope } from './session-key.js';
import type { SessionLeases } from './session-leases.js';

/** A stored session. */
export interface StoredSession {
  /** Names the last commit: its `operation`. Pass it as `expected` of the next change. Each commit has a different token. */
  readonly token: string;
  /** The number of commits, from 1, for display. If a session is deleted and created again, the count restarts at 1. */
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
   * Unique name of this commit: see {@link operationId}. It becomes the token of the stored session. After any failure, you may send the
   * same commit again: a store remembers the operations of the latest commits, and applies none of them twice.
   */
  readonly operation: string;
  /** The token that this change expects; `undefined` if the session must not exist. */
  readonly expected: string | undefined;
  readonly head: JsonObject;
  readonly keep: number;
  readonly append: readonly Message[];
  /** The fence of the writer's lease. The commit is rejected if a newer lease exists. */
  readonly fence?: number | undefined;
}

/** A session in a listing. */
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
  /** Number of tool calls that wait for a person's decision; left out if there are none. */
  readonly pendingApprovals?: number | undefined;
  /** Cost and savings of the compactions of the session; left out if there were none. */
  readonly compaction?: CompactionCost | undefined;
  /** Continues the listing after this session: see {@link ListOptions}. */
  readonly cursor: string;
}

/** Limits the sessions that a listing returns. */
export interface ListOptions {
  /** Maximum number of sessions. Default: all. A listing that reaches this number does not report unreadable sessions. */
  readonly limit?: number | undefined;
  /** The `cursor` of a session. Lists only sessions after it. */
  readonly after?: string | undefined;
  /** Only sessions whose last commit is older. */
  readonly updatedBefore?: Date | undefined;
  /** Only sessions whose metadata has these values. The store reads all sessions of the scope to find them. */
  readonly metadata?: Readonly<Record<string, string | number | boolean>> | undefined;
}

/** Limits the part of a session that is loaded. */
export interface LoadOptions {
  /** Only the last messages, up to this number, for display. A change needs the whole session. */
  readonly last?: number | undefined;
}

/** Conditions for deleting a session. */
export interface DeleteOptions {
  /** Deletes only if this token is current, so that newer commits are kept. Default: deletes in any case. */
  readonly token?: string | undefined;
  /** Deletes only if the session is not leased. Default false. */
  readonly unlessLeased?: boolean | undefined;
  /** The fence of a lease to ignore because its holder is dead. */
  readonly over?: number | undefined;
}

/**
 * Storage for sessions. Test your implementation with `sessionStoreSuite` of `@x/testkit/suites`.
 *
 * A store never closes a client that it did not open.
 */
export interface SessionStore {
  readonly reach: Reach;
  /**
   * Loads a session. Returns `undefined` if it does not exist.
   *
   * @throws {InvalidInputError} for invalid options.
   * @throws {SessionStoreError} when it cannot be read. A failure never returns `undefined`.
   */
  load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined>;
  /**
   * Applies the change atomically, unless it was applied before. Returns the new version.
   *
   * @throws {SessionConflictError} when another token is current. Nothing was written.
   * @throws {InvalidInputError} when `keep` exceeds the stored messages, or a message is invalid. Nothing was written.
   * @throws {SessionLeaseError} `lease_lost` when `fence` is not the newest. Nothing was written.
   * @throws {SessionStoreError} whose `outcome` says whether the change may have been applied.
   */
  commit(key: SessionKey, change: SessionChange): Promise<number>;
  /** Deletes a session with its lease and all its data. Returns whether the session existed. */
  delete(key: SessionKey, options?: DeleteOptions): Promise<boolean>;
  /**
   * Lists the sessions within a scope, newest first. An unreadable session does not hide others.
   *
   * @throws {InvalidInputError} for invalid options, and for an unknown part of the scope. Ignoring that part would list too many sessions.
   * @throws {SessionStoreError} for sessions that cannot be read, after all others.
   */
  list(scope?: SessionScope, options?: ListOptions): AsyncIterable<SessionInfo>;
  /** Closes the connections and files that the store itself opened. */
  close(): Promise<void>;
  /** The leases of sessions. `undefined` for stores that only one process can use. */
  readonly leases?: SessionLeases | undefined;
  /**
   * Opens another set of records in the same place, such as the chats of a user interface. A collection has its own keys and the guarantees
   * of a store. Its records are not sessions, so `list` of the store does not return them. The first commit creates the collection. A
   * collection has no method `collection`, and its `close` does nothing. `undefined` for stores without collections.
   *
   * @throws {InvalidInputError} unless the name is a lower-case letter, followed by up to 31 characters of a–z, 0–9 and `-`.
   */
  collection?(name: string): SessionStore;
  /** Lists the collections that contain records, for programs that erase, export or copy all data. Implement it if you implement `collection`. */
  collections?(): AsyncIterable<string>;
}

/**
 * The log of a session: all its messages, in order, append-only. Messages are logged before a compaction, so that removed messages can be
 * read again.
 */
export interface SessionLog {
  /** Location of the log, for display and for `read_file`. A workspace path if the log is in a workspace. */
  readonly location: string;
  /** Appends the messages that the log lacks, by id. They are durable when it returns. */
  append(messages: readonly Message[]): Promise<void>;
  /**
   * Reads the messages, oldest first. Skips an incomplete last line, as after a crash.
   *
   * @param from The id of the first message to read. If it is omitted or the log lacks it, reads all messages.
   */
  read(from?: string): AsyncIterable<Message>;
  /** Returns the message with an id, if there is one. */
  get(messageId: string): Promise<Message | undefined>;
  /**
   * Returns the numbers of messages in the log, by id. Omits messages without a number. r12 is the twelfth message that a user, a model or a
   * tool wrote. The log may have more messages than the conversation, for example of a call that could not be stored. If a log lacks this
   * method, messages are numbered by their position in the conversation.
   */
  numbers?(messageIds: readonly string[]): Promise<ReadonlyMap<string, number>>;
}
