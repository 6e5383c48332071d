import { WorkspaceError } from '../errors/workspace-error.js';

/** Visibility of stored data: this process, this machine, or every machine that reaches the backend. */
export type Reach = 'process' | 'host' | 'cluster';

/** A file or a directory as a listing shows it. */
export interface WorkspaceEntry {
  /** Relative to the workspace, with `/`. */
  readonly path: string;
  readonly type: 'file' | 'directory';
  /** Bytes; 0 for a directory. */
  readonly size: number;
  /** ISO 8601, UTC. */
  readonly modifiedAt: string;
  /** The `id` of a file with several names, as `identify` returns it. Not set for symbolic links. */
  readonly hardLinked?: string;
  /** Whether the entry is a symbolic link to a file or directory in the workspace. */
  readonly isLink?: boolean;
}

/** Identifies a file regardless of which of its names was used. */
export interface FileIdentity {
  /** The path with links followed. For a missing file, the path at which it would be created. */
  readonly path: string;
  /** All names of the file share it. */
  readonly id: string;
  /** Number of names (hard links) of the file. */
  readonly links: number;
  /** Time of the last change of its content, times or names, in milliseconds since 1970, if known. */
  readonly changedAt?: number;
}

/** A use of a file that a rule can deny. */
export type FileUse = 'read' | 'write';

/** A rule that denies a use of files. */
export interface FileRule {
  readonly use: FileUse;
  /** A glob from the root of the workspace, with `*`, `?` and `**`. */
  readonly match: string;
}

/**
 * Returns the reason why a file may not be read or written, or `undefined` if access is allowed.
 *
 * @param path The path as the caller gave it.
 * @param file The file that is read or written, if the workspace knows it. The path may lead elsewhere by now.
 */
export type WorkspaceConfine = (
  path: string,
  use: FileUse,
  file?: FileIdentity,
) => string | undefined | Promise<string | undefined>;

/** The directory of a workspace in which a harness keeps its own files; see {@link storageOf}. */
export const STORAGE = '.x';

/**
 * A tree of files: an agent's files, which its tools read and write, or the harness's own files.
 *
 * Paths are relative, with `/`; a leading `/` means the root of the workspace. `..`, NUL and symbolic links that lead outside are
 * rejected with a `WorkspaceError`.
 */
export interface Workspace {
  readonly reach: Reach;
  /**
   * Reads a file, or at most `length` bytes (default: to the end) from `offset` (bytes, default 0).
   *
   * @throws {WorkspaceError} `not_found`, `is_directory`.
   */
  read(path: string, range?: { readonly offset?: number; readonly length?: number }): Promise<Uint8Array>;
  /**
   * Creates or replaces a file atomically: a reader sees the old bytes or the new ones. Creates missing parent directories. With
   * `ifAbsent`, an existing file is not replaced.
   *
   * @throws {WorkspaceError} `already_exists` with `ifAbsent`; `read_only`.
   */
  write(path: string, data: string | Uint8Array, options?: { readonly ifAbsent?: boolean }): Promise<void>;
  /** Appends to a file, or creates it. Returns when the bytes are durable. */
  append(path: string, data: string | Uint8Array): Promise<void>;
  /**
   * Lists a directory, sorted by path. Yields nothing if the directory does not exist. If one file replaces another during the listing,
   * at least one of them is listed.
   */
  list(path?: string, options?: { readonly recursive?: boolean }): AsyncIterable<WorkspaceEntry>;
  /**
   * Returns the identity of the file at a path. Left out by workspaces in which a file has only one name.
   *
   * @throws {WorkspaceError} `outside_workspace`.
   */
  identify?(path: string): Promise<FileIdentity>;
  /**
   * Returns a view of the same files that applies `confine`. For files that `confine` denies, methods fail with a `WorkspaceError`
   * `refused`. Each file is checked while it is open, and exactly that file is then read or written. Left out by workspaces in which a
   * path always means the same file. Returns `undefined` if this workspace cannot do it.
   */
  confined?(confine: WorkspaceConfine): Workspace | undefined;
  /** Returns the entry at a path, or `undefined` if nothing exists there. */
  stat(path: string): Promise<WorkspaceEntry | undefined>;
  /** Deletes a file, or a directory with its contents. Returns whether it existed. */
  delete(path: string): Promise<boolean>;
  /**
   * Replaces a file like `write`, and moves the old file to `kept`. Concurrent writes to the old file, even through handles that are still
   * open, change the file at `kept`. `undefined` for workspaces that cannot do it.
   *
   * @throws {WorkspaceError} `not_found`; `already_exists` when `kept` exists.
   */
  replace?(path: string, kept: string, data: string | Uint8Array): Promise<void>;
  /**
   * Opens a directory (`''` for the root) as a separate workspace. No path and no link leads out of it, or into a harness's storage.
   * Left out by workspaces without links, in which checking paths is enough.
   */
  subtree?(path: string): Workspace;
  /**
   * Runs `task` while no other process or task holds the lock `name`. `undefined` for workspaces without locks.
   *
   * @throws {WorkspaceError} `locked` when the lock was not acquired within `timeoutMs` (default 10 000).
   */
  lock?<T>(
    name: string,
    task: (lock: HeldLock) => Promise<T>,
    options?: { readonly timeoutMs?: number | undefined },
  ): Promise<T>;
}

/** A lock, for the task that holds it. */
export interface HeldLock {
  /**
   * Checks that the lock is still held: if this process was suspended for long, others may have treated it as dead. Call it right
   * before a write that cannot be undone.
   *
   * @throws {WorkspaceError} `locked` when it was lost.
   */
  check(): Promise<void>;
}

const decoder = new TextDecoder();

/**
 * Reads a file as UTF-8 text.
 *
 * @param maxBytes Maximum size of the file. Default: no limit.
 * @throws {WorkspaceError} `refused` for a larger file, and any error of `read`.
 */
export async function readText(
  workspace: Pick<Workspace, 'read'>,
  path: string,
  maxBytes?: number,
): Promise<string> {
  if (maxBytes === undefined) return decoder.decode(await workspace.read(path));
  const bytes = await workspace.read(path, { length: maxBytes + 1 });
  if (bytes.length <= maxBytes) return decoder.decode(bytes);
  throw new WorkspaceError('refused', path, `${JSON.stringify(path)} has more than ${maxBytes} bytes.`);
}

/**
 * Splits a workspace path into its names; the root has none. A leading `/` means the root. `.` and empty names are dropped.
 *
 * @throws {WorkspaceError} `outside_workspace` for `..`; `invalid_path` for NUL, backslashes and drive letters, which platforms
 * interpret differently.
 */
export function pathSegments(path: string): readonly string[] {
  if (typeof path !== 'string') throw invalid(String(path), 'a path must be a string');
  if (path.includes('\0')) throw invalid(path, 'it contains a NUL character');
  if (path.includes('\\')) throw invalid(path, 'separate directories with "/", not with a backslash');
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) {
    throw new WorkspaceError(
      'outside_workspace',
      path,
      `The path ${JSON.stringify(path)} contains "..". Use a path from the root of the workspace.`,
    );
  }
  if (/^[a-z]:/i.test(segments[0] ?? '')) throw invalid(path, 'it begins with a drive letter');
  return segments;
}

function invalid(path: string, reason: string): WorkspaceError {
  return new WorkspaceError(
    'invalid_path',
    path,
    `The path ${JSON.stringify(path)} is not valid: ${reason}. Use a path from the root of the workspace.`,
  );
}
