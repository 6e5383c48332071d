import type { Message } from '@x/core';
import type { Decisions } from '@x/harness';
import type { CompactionPreview, WindowView } from './inspection.js';
import type { MemoryShelf } from './memory-shelf.js';
import type { SessionSnapshot, StampedEvent } from './session-feed.js';

/**
 * The agent as the server sees it. Every method may reject with an `XError`, whose code and message reach the page;
 * `BackendError` has the codes that the page and the status line of the answer know.
 *
 * Sessions are named by the page: `send` to an id that does not exist yet creates it.
 */
export interface Backend {
  info(): Promise<BackendInfo>;
  /** All sessions, the most recently used first. */
  sessions(): Promise<readonly SessionSummary[]>;
  /**
   * All that the page shows, as of one event.
   *
   * @throws {BackendError} `session_not_found`.
   */
  transcript(sessionId: string): Promise<SessionSnapshot>;
  /**
   * Starts a call with a message of the user. Resolves once the call is accepted; events tell the rest.
   *
   * @throws {BackendError} `session_busy` while a call or a compaction runs.
   */
  send(sessionId: string, text: string): Promise<void>;
  /** Interrupts the running call or compaction, if any. Resolves once the interruption is requested. */
  stop(sessionId: string): Promise<void>;
  /**
   * Starts a compaction and resolves once it has been accepted; `context.compacted` tells the outcome, also a bad one.
   *
   * @throws {BackendError} `session_not_found`, `session_busy`.
   */
  compact(sessionId: string, instructions?: string): Promise<void>;
  /** Deletes the session, its log included, and stops what runs in it. @throws {BackendError} `session_not_found`. */
  remove(sessionId: string): Promise<void>;
  /**
   * Calls `listener` with every event after `afterEventId`, first those that are still held, then live; synchronously, in
   * order. An id that is no longer held, or of another process, gives one `reset`: the page loads the transcript again.
   * Without an id, only what happens from now on.
   *
   * @returns a function that ends it.
   */
  subscribe(
    sessionId: string,
    afterEventId: string | undefined,
    listener: (event: StampedEvent) => void,
  ): () => void;
  /**
   * A message as the log has it, and as the model sees it now.
   *
   * @throws {BackendError} `session_not_found`, `message_not_found`.
   */
  expand(sessionId: string, messageId: string): Promise<ExpandedMessage>;
  /**
   * A part of a text file in the workspace, for results that were too large for the window. The backend confines the path.
   *
   * @throws {WorkspaceError} `not_found`, `outside_workspace`, ….
   */
  readFile(path: string, range: { readonly offset: number; readonly length: number }): Promise<FilePart>;
  /**
   * Takes back the last compaction. Left out by backends that cannot.
   *
   * @throws {BackendError} `session_not_found`, `session_busy`, `nothing_to_undo`.
   */
  undo?(sessionId: string, compactionId: string): Promise<void>;
  /**
   * Shows the next request to the model, message by message.
   *
   * @throws {BackendError} `session_not_found`.
   */
  windowView(sessionId: string): Promise<WindowView>;
  /**
   * Previews a compaction with these settings. Calls no model and changes nothing. `force` previews one although none is due.
   *
   * @throws {InvalidInputError} naming every setting that cannot be.
   * @throws {BackendError} `session_not_found`.
   */
  preview(
    sessionId: string,
    settings: Readonly<Record<string, unknown>>,
    force: boolean,
  ): Promise<CompactionPreview>;
  /** The memory over all sessions. Left out by backends without one. */
  readonly memory?: MemoryShelf | undefined;
  /**
   * Begins or ends plan mode: while it is on, the agent may only read. Left out by backends without it.
   *
   * @throws {BackendError} `session_not_found`, `session_busy`.
   */
  setPlanMode?(sessionId: string, active: boolean): Promise<void>;
  /**
   * Answers for tool calls that wait for permission and goes on with the call. Left out by backends that never ask.
   *
   * @throws {BackendError} `session_not_found`, `session_busy`, `not_pending`.
   */
  decide?(sessionId: string, decisions: Decisions): Promise<void>;
}

/** The model, the window and the abilities behind the page. */
export interface BackendInfo {
  /** The version of the demo, for example `0.1.0`. */
  readonly version: string;
  readonly model: {
    readonly id: string;
    /** True for the demo's own guide: rules, no LLM. */
    readonly embedded: boolean;
    /** Prices per million tokens, where known; the page then says what a reply cost. */
    readonly pricing?: Pricing | undefined;
  };
  /** Tokens. */
  readonly contextWindow: number;
  /** Tokens at which a compaction begins by itself; 0 when none does. */
  readonly triggerTokens: number;
  /** How it compacts, as far as the page can try other settings. */
  readonly compaction: CompactionSettings;
  /** As configured, for example `auto`. */
  readonly strategy: string;
  /** The place where the agent works, for people. */
  readonly workspace: string;
  /** The optional methods that the backend has. */
  readonly abilities: {
    readonly undo: boolean;
    readonly decide: boolean;
    readonly plan: boolean;
    readonly memory: boolean;
  };
  /** Suggestions on an empty page. */
  readonly starters: readonly Starter[];
}

/** Shares that a compaction works with; see `CompactionConfig` of @x/compaction. */
export interface CompactionSettings {
  /** Of the window: where a compaction is due. */
  readonly trigger: number;
  /** Of the trigger point: what a compaction leaves. */
  readonly target: number;
  /** Of the trigger point: the newest messages, which stay as they are. */
  readonly keep: number;
  /** Of the window: the user's own words, which stay as they are. */
  readonly users: number;
  /** Of the trigger point: the record of what was done. */
  readonly record: number;
}

export interface Pricing {
  /** ISO 4217, for example `USD`. */
  readonly currency: string;
  readonly inputPerMillion: number;
  readonly cachedInputPerMillion: number;
  readonly outputPerMillion: number;
}

export interface Starter {
  readonly icon: 'survey' | 'ask' | 'find' | 'compact' | 'write';
  readonly title: string;
  readonly description: string;
  /** The message that a click sends. */
  readonly prompt: string;
}

export interface SessionSummary {
  readonly id: string;
  /** The first thing that the user said. */
  readonly title: string;
  /** ISO 8601, UTC. */
  readonly updatedAt: string;
  readonly running: boolean;
  readonly messageCount: number;
}

export interface ExpandedMessage {
  readonly original: Message;
  /** `undefined` when it is gone from the model's view; the original itself when it is unchanged. */
  readonly current?: Message | undefined;
}

export interface FilePart {
  readonly path: string;
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Bytes; where this part begins. */
  readonly offset: number;
  /** Bytes; where the next part begins, absent at the end. */
  readonly nextOffset?: number | undefined;
}
