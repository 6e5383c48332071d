import { WorkspaceError, type WorkspaceErrorCode } from '../errors/workspace-error.js';

const MEANINGS: Readonly<Record<string, readonly [code: WorkspaceErrorCode, text: string]>> = {
  ENOENT: ['not_found', 'does not exist'],
  EEXIST: ['already_exists', 'exists already'],
  EISDIR: ['is_directory', 'is a directory, not a file'],
  ENOTDIR: ['invalid_path', 'has a file where a directory is expected'],
  ENAMETOOLONG: ['invalid_path', 'is too long for this file system; use shorter names'],
  ELOOP: ['outside_workspace', 'is a symbolic link, which is not followed'],
  EROFS: ['read_only', 'is on a read-only file system; choose a writable workspace'],
  EACCES: ['read_only', 'cannot be accessed; check its owner and permissions'],
  EPERM: ['read_only', 'cannot be accessed; check its owner and permissions'],
  ENOSPC: ['workspace_io', 'cannot be written: the disk is full; free some space'],
  EDQUOT: ['workspace_io', 'cannot be written: the disk quota is used up; free some space'],
};

/** Codes of errors that end when this or another process closes files. */
const TRANSIENT = ['EMFILE', 'ENFILE'];

/** Converts an error of the operating system to a `WorkspaceError`. Other errors are returned unchanged. */
export function toWorkspaceError(path: string, error: unknown): unknown {
  const code = errorCode(error);
  if (WorkspaceError.isInstance(error) || code === undefined) return error;
  const [meaning, text] = MEANINGS[code] ?? ['workspace_io', `could not be read or written (${code})`];
  const isTransient = TRANSIENT.includes(code);
  return new WorkspaceError(meaning, path, `${JSON.stringify(path)} ${text}.`, { cause: error, isTransient });
}

/** Returns the system error code of an I/O error, such as `ENOENT`; `undefined` for other errors. */
export function errorCode(error: unknown): string | undefined {
  if (!(error instanceof Error) || !('syscall' in error || 'errno' in error)) return undefined;
  return (error as NodeJS.ErrnoException).code;
}

/** Returns the result of an operation, or `undefined` if it fails with one of `codes`. */
export async function undefinedOn<T>(
  codes: readonly string[],
  operation: Promise<T>,
): Promise<T | undefined> {
  try {
    return await operation;
  } catch (error) {
    if (codes.includes(errorCode(error) ?? '')) return undefined;
    throw error;
  }
}

/** System error codes of a path that does not exist. */
export const ABSENT = ['ENOENT', 'ENOTDIR'];
