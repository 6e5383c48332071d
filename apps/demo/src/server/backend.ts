import type { Message, PermissionContext } from '@x/core';
import type { Decisions } from '@x/harness';
import type { Prices } from '@x/replay';
import type { SessionSnapshot, StampedEvent } from './session-feed.js';

/**
 * The agent as the server sees it. Every method may reject with an `XError`, whose code and message reach the page;
 * `BackendError` has the codes that the page and the status line of the answer know. Where a session is named that does not
 * exist, that is `session_not_found`; while a call or a compaction runs, what changes the session is `session_busy`.
 *
 * Sessions are named by the page: `send` to an id that does not exist yet creates it.
 */
export interface Backend {
  info(): Promise<BackendInfo>;
  /** All sessions, the most recently used first. */
  sessions(): Promise<readonly SessionSummary[]>;
  /** All that the page shows, as of one event. */
  transcript(sessionId: string): Promise<SessionSnapshot>;
  /**
   * Says something: to the running call, whose model reads it at its next step, or with a new call. Resolves once it is
   * accepted; events tell the rest.
   */
  send(sessionId: string, text: string): Promise<void>;
  /** Interrupts the running call or compaction, if any. Resolves once the interruption is requested. */
  stop(sessionId: string): Promise<void>;
  /** Starts a compaction and resolves once it is accepted; `context.compacted` tells the outcome, also a bad one. */
  compact(sessionId: string, instructions?: string): Promise<void>;
  /** Deletes the session, its log included, and stops what runs in it. */
  remove(sessionId: string): Promise<void>;
  /**
   * Calls `listener` with every event of a known session after `afterEventId`, first those that are still held, then live; synchronously, in
   * order. An id that is no longer held, or of another process, gives one `reset`: the page loads the transcript again.
   *
   * @returns a function that ends it.
   */
  subscribe(sessionId: string, afterEventId: string, listener: (event: StampedEvent) => void): () => void;
  /**
   * Returns a message as the log has it, and as the model sees it now.
   *
   * @throws {BackendError} `message_not_found`.
   */
  expand(sessionId: string, messageId: string): Promise<ExpandedMessage>;
  /**
   * Reads a part of a text file in the workspace. The backend confines the path.
   *
   * @throws {WorkspaceError} `not_found`, `outside_workspace`, ….
   */
  readFile(path: string, range: { readonly offset: number; readonly length: number }): Promise<FilePart>;
  /** Lists the files that the agent has written, the newest first. */
  files(): Promise<readonly FileInfo[]>;
  /**
   * Takes back the last compaction.
   *
   * @throws {BackendError} `nothing_to_undo`.
   */
  undo(sessionId: string, compactionId: string): Promise<void>;
  /**
   * Shows the request of a step, from 1, as the model was sent it; without a step, the next request.
   *
   * @throws {BackendError} `not_found` for a step that was not made.
   */
  request(sessionId: string, step?: number): Promise<RequestView>;
  /** The memory over all sessions. */
  readonly memory: MemoryShelf;
  /** Sets what the agent may do unasked in this session. */
  setPermissionMode(sessionId: string, mode: PermissionContext['mode']): Promise<void>;
  /** Begins or ends plan mode: while it is on, the agent may only read. */
  setPlanMode(sessionId: string, active: boolean): Promise<void>;
  /**
   * Answers for tool calls that wait for permission and goes on with the call.
   *
   * @throws {BackendError} `not_pending`.
   */
  decide(sessionId: string, decisions: Decisions): Promise<void>;
}

/** The model and the window behind the page. */
export interface BackendInfo {
  /** The version of the packages, for example `0.1.0`. */
  readonly version: string;
  readonly model: {
    readonly id: string;
    /** True for the demo's own guide: rules, no LLM. */
    readonly embedded: boolean;
    /** US dollars for a million tokens, where known; the page then says what a reply cost. */
    readonly prices?: Prices | undefined;
  };
  /** Tokens. */
  readonly contextWindow: number;
  /** Tokens at which a compaction begins by itself; 0 when none does. */
  readonly triggerTokens: number;
  /** Where sessions and files are kept, for people. */
  readonly storage: string;
  /** Whether the agent can plan. */
  readonly plans: boolean;
  /** Suggestions on an empty page. */
  readonly starters: readonly Starter[];
}

export interface Starter {
  readonly icon: 'survey' | 'ask' | 'write';
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
  /** True when what is stored cannot be read; the rest of the list can. */
  readonly damaged?: boolean;
}

export interface ExpandedMessage {
  readonly original: Message;
  /** `undefined` when it is gone from the model's view; the original itself when it is unchanged. */
  readonly current?: Message | undefined;
}

export interface FileInfo {
  readonly path: string;
  /** Bytes. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
}

export interface FilePart {
  readonly path: string;
  readonly text: string;
  /** Bytes of the whole file. */
  readonly size: number;
  /** Bytes; where the next part begins, never within a character; absent at the end. */
  readonly nextOffset?: number | undefined;
}

/** A request to the model, message by message, and what changed since the request before. */
export interface RequestView {
  readonly messages: readonly RequestMessage[];
  /** Messages that the request before had and this one lacks. */
  readonly removed: readonly RequestMessage[];
  /** Tokens around the conversation. */
  readonly system: number;
  readonly tools: number;
  readonly reminders: number;
}

export interface RequestMessage {
  readonly id: string;
  readonly source: 'summary' | 'conversation' | 'toolResults';
  readonly tokens: number;
  readonly text: string;
  /** What became of it since the request before; absent when nothing did. */
  readonly change?: 'added' | 'altered' | undefined;
}

/** The memory of a user over all sessions: `MEMORY.md` and the notes of days. Reads nothing else. */
export interface MemoryShelf {
  overview(): Promise<MemoryOverview>;
  /** @throws {BackendError} `not_found` for anything that is no memory file of this user, whatever the path. */
  read(path: string): Promise<string>;
  /** Finds the best lines. Any text is a query. */
  search(query: string): Promise<readonly MemoryLine[]>;
}

export interface MemoryOverview {
  readonly files: readonly MemoryFileInfo[];
}

/** A memory file; `path` as people and `read` name it: `MEMORY.md`, `memory/2026-01-31.md`. */
export interface MemoryFileInfo extends FileInfo {
  readonly kind: 'core' | 'note' | 'other';
}

export interface MemoryLine {
  readonly path: string;
  /** From 1. */
  readonly lineNumber: number;
  /** So much of the line as fits, around the match. */
  readonly snippet: string;
}
