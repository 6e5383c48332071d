import { XError, type XErrorOptions } from './x-error.js';

/** The reason why a path was refused, or could not be read or written. */
export type WorkspaceErrorCode =
  | 'invalid_path'
  | 'outside_workspace'
  | 'not_found'
  | 'already_exists'
  | 'is_directory'
  | 'read_only'
  | 'locked'
  | 'refused'
  | 'workspace_io';

/** Messages for clients. They omit the path, because it may be confidential. */
const CLIENT_TEXTS: { readonly [Code in WorkspaceErrorCode]?: string } = {
  invalid_path: 'The path is not valid.',
  outside_workspace: 'The path leads out of the workspace.',
  not_found: 'The file does not exist.',
  already_exists: 'The file exists already.',
  is_directory: 'The path leads to a directory, not to a file.',
  read_only: 'The file cannot be changed.',
};

/**
 * A workspace rejected a path, or could not read or write it.
 *
 * @code invalid_path The path is not valid in a workspace. Do: Use a relative path without control characters.
 * @code outside_workspace The path leads out of the workspace. Do: Use a path in the workspace, or mount the folder (`mountWorkspace`).
 * @code not_found There is no file at the path. Do: List the folder and correct the path.
 * @code already_exists The file exists, and was to be written only if absent (`ifAbsent`). Do: Read the file, or choose another path.
 * @code is_directory The path is a directory, but a file was expected. Do: Use the path of a file in it.
 * @code read_only The workspace or the file cannot be changed. Do: Write to another mount, or mount it without `readOnly`.
 * @code locked Another process holds the lock. Do: Try again later.
 * @code refused A rule or a capability denies the file. Do: Change the rules (`permissions`), or do not use the file.
 * @code workspace_io The disk or server failed. Do: Check permissions, free space and connection; `cause` has the details.
 */
export class WorkspaceError extends XError {
  static override readonly brand = 'WorkspaceError';
  /** The path passed by the caller. */
  readonly path: string;

  constructor(code: WorkspaceErrorCode, path: string, message: string, options: XErrorOptions = {}) {
    super(code, message, { clientMessage: CLIENT_TEXTS[code], ...options });
    this.path = path;
  }
}
