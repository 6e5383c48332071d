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
  /** The `id` of a file that has several names, as `identify` answers it. Not for symbolic links. */
  readonly hardLinked?: string;
  /** It is a symbolic link to a file or directory in the workspace. */
  readonly isLink?: boolean;
}

/** A file, whichever of its names led to it. */
export interface FileIdentity {
  /** The path with links followed. If nothing is there yet, where it would be. */
  readonly path: string;
  /** All names of the file share it. */
  readonly id: string;
  /** How many names the file has. */
  readonly links: number;
  /** When its content, times or names last changed, in milliseconds since 1970, if that is known. */
  readonly changedAt?: number;
}

export type FileUse = 'read' | 'write';

/** A rule that denies a use of files. */
export interface FileRule {
  readonly use: FileUse;
  /** A path from the root of the workspace, in which `*`, `?` and `**` may stand for others. */
  readonly match: string;
}

/**
 * Says why a file may not be read or written; nothing if it may.
 *
 * @param path As it was given.
 * @param file What is read or written, if the workspace knows: the path may lead elsewhere by now.
 */
export type WorkspaceConfine = (
  path: string,
  use: FileUse,
  file?: FileIdentity,
) => string | undefined | Promise<string | undefined>;

/** The directory of a workspace in which a harness keeps its own; see {@link storageOf}. */
export const STORAGE = '.x';

/**
 * A tree of files: those of an agent, which its tools read and write, or the harness's own.
 *
 * Paths are relative, with `/`; a leading `/` means the root of the workspace. `..`, NUL and symbolic links that lead
 * out are refused with a `WorkspaceError`.
 */
export interface Workspace {
  readonly reach: Reach;
  /**
   * Reads the bytes of a file, or of the part from `offset` (bytes, default 0) of at most `length` bytes (default: to the end).
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
  /**
   * Lists a directory, sorted by path. Yields nothing when it does not exist. Of two files of which one takes the place of
   * the other meanwhile, at least one is there.
   */
  list(path?: string, options?: { readonly recursive?: boolean }): AsyncIterable<WorkspaceEntry>;
  /**
   * Finds the file that a path means. Left out by workspaces in which a file has one name.
   *
   * @throws {WorkspaceError} `outside_workspace`.
   */
  identify?(path: string): Promise<FileIdentity>;
  /**
   * Opens the same files, but for those that `confine` refuses: its methods fail for these with a `WorkspaceError` `refused`. Each
   * file is judged while it is open, and what was judged is what is read or written. Left out by workspaces in which a path always
   * means the same file. `undefined` if this one cannot.
   */
  confined?(confine: WorkspaceConfine): Workspace | undefined;
  /** `undefined` when there is nothing at that path. */
  stat(path: string): Promise<WorkspaceEntry | undefined>;
  /** Deletes a file, or a directory with its contents. Returns whether there was one. */
  delete(path: string): Promise<boolean>;
  /**
   * Replaces a file as `write` does, and keeps the old one, the very file, at `kept`: what others wrote to it until then, and
   * what they still write to what they have open, is found there. Left out by workspaces that cannot.
   *
   * @throws {WorkspaceError} `not_found`; `already_exists` when there is something at `kept`.
   */
  replace?(path: string, kept: string, data: string | Uint8Array): Promise<void>;
  /**
   * Opens a directory, `''` for the root, as a workspace of its own: no path and no link leads out of it, or to a harness's
   * own tree. Left out by workspaces without links, where paths alone decide.
   */
  subtree?(path: string): Workspace;
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
   * Checks that the lock is still held: a process that was stopped for long may have been taken for dead. Call it
   * right before a write that cannot be undone.
   *
   * @throws {WorkspaceError} `locked` when it was lost.
   */
  check(): Promise<void>;
}

const decoder = new TextDecoder();

/**
 * Reads a file as UTF-8 text.
 *
 * @param maxBytes What it may have; no more is read. Default: no limit.
 * @throws {WorkspaceError} `refused` for a file that has more; what reading throws.
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
 * Splits a workspace path into its names; none for the root. A leading `/` means the root, `.` and empty names
 * are left out.
 *
 * @throws {WorkspaceError} `outside_workspace` for `..`; `invalid_path` for what one platform or another reads
 * differently: NUL, backslashes, drive letters.
 */
export function pathSegments(path: string): readonly string[] {
  if (typeof path !== 'string') throw invalid(String(path), 'a path is a string');
  if (path.includes('\0')) throw invalid(path, 'it contains a NUL character');
  if (path.includes('\\')) throw invalid(path, 'separate directories with "/", not with a backslash');
  const segments = path.split('/').filter((segment) => segment !== '' && segment !== '.');
  if (segments.includes('..')) {
    throw new WorkspaceError(
      'outside_workspace',
      path,
      `The path ${JSON.stringify(path)} contains "..". Name the file from the root of the workspace.`,
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
