import { WorkspaceError, XError } from '@x/core';
import { errorText } from '@x/core/internal';
import { isRefused, isTransient } from '../store-error.js';

/** Error texts for the reasons why a script rejects a path. */
const MEANINGS = {
  not_found: 'does not exist',
  already_exists: 'already exists',
  is_directory: 'is a directory, not a file. List it, or name a file in it',
  workspace_io:
    'has lost its bytes. Give Redis enough memory and `maxmemory-policy noeviction`, then write the file again or delete it',
  invalid_path: 'is below a file. Use a path whose parent is a directory',
} as const;

export type Refusal = keyof typeof MEANINGS;

export function refused(path: string, reason: Refusal): WorkspaceError {
  return new WorkspaceError(reason, path, `${JSON.stringify(path)} ${MEANINGS[reason]}.`);
}

/** Runs a task on Redis and converts the client's errors to `WorkspaceError`. */
export async function asWorkspaceError<T>(path: string, task: () => Promise<T>): Promise<T> {
  try {
    return await task();
  } catch (error) {
    if (XError.isInstance(error)) throw error;
    const reason = errorText(error).replace(/(?<!\.)\.+$/, '');
    const text = isRefused(error)
      ? `Redis rejected the command: ${reason}. Nothing was written.`
      : `Redis could not be reached: ${reason}. A write that failed this way may still have been applied.`;
    throw new WorkspaceError(
      'workspace_io',
      path,
      `${JSON.stringify(path)} could not be read or written: ${text}`,
      { cause: error, isTransient: isTransient(error) },
    );
  }
}
