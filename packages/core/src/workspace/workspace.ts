import type { Reach } from '../sessions/session-store.js';

/** A file or a directory as a listing shows it. */
export interface WorkspaceEntry {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly type: 'file' | 'directory';
  /** Bytes; 0 for a directory. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
}

/**
 * The files of an agent: what its tools read and write, its logs, memory and evicted results.
 *
 * Paths are relative, with `/`; a leading `/` means the root of the workspace. `..`, NUL and symbolic links that lead
 * out are refused with a `WorkspaceError`.
 */
export interface Workspace {
  readonly reach: Reach;
  /**
   * Bytes of a file, or of the part from `offset` (bytes, default 0) of at most `length` bytes (default: to the end).
   *
   * @throws {WorkspaceError} `not_found`, `is_directory`.
   */
  read(path: string, range?: { readonly offset?: number; readonly length?: number }): Promise<Uint8Array>;
  /**
   * Replaces or creates a file atomically, with the directories above it: a reader sees the old bytes or the new ones.
   * With `ifAbsent` an existing file is left alone.
   *
   * @throws {WorkspaceError} `already_exists` with `ifAbsent`; `read_only`.
   */
  write(path: string, data: string | Uint8Array, options?: { readonly ifAbsent?: boolean }): Promise<void>;
  /** Adds to the end of a file, or creates it, and returns once the bytes are durable. */
  append(path: string, data: string | Uint8Array): Promise<void>;
  /** What lies in a directory, sorted by path; nothing when it does not exist. */
  list(path?: string, options?: { readonly recursive?: boolean }): AsyncIterable<WorkspaceEntry>;
  /** `undefined` when there is nothing at that path. */
  stat(path: string): Promise<WorkspaceEntry | undefined>;
  /** Deletes a file, or a directory with all that is in it. Whether there was one. */
  delete(path: string): Promise<boolean>;
  /**
   * Runs `task` while no other process or task holds `name`. Left out by workspaces that cannot exclude others.
   *
   * @throws {WorkspaceError} `locked` when it could not be had within `timeoutMs` (default 10 000).
   */
  lock?<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options?: { readonly timeoutMs?: number | undefined },
  ): Promise<T>;
}

/** A lock, for the task that runs under it. */
export interface HeldLock {
  /**
   * Asks whether the lock is held still: a process that was stopped for long may have been taken for dead. Call it
   * right before a write that cannot be undone.
   *
   * @throws {WorkspaceError} `locked` when it was lost.
   */
  check(): Promise<void>;
}

const decoder = new TextDecoder();

/** The file as UTF-8 text. */
export async function readText(workspace: Pick<Workspace, 'read'>, path: string): Promise<string> {
  return decoder.decode(await workspace.read(path));
}
