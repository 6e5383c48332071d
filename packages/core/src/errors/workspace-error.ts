import { XError, type XErrorOptions } from './x-error.js';

/** The reason for which a path was refused, or could not be read or written. */
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

/** What clients read: a path may be one that they know nothing of. */
const CLIENT_TEXTS: { readonly [Code in WorkspaceErrorCode]?: string } = {
  invalid_path: 'The path is not valid.',
  outside_workspace: 'The path leads out of the workspace.',
  not_found: 'The file does not exist.',
  already_exists: 'The file exists already.',
  is_directory: 'The path leads to a directory, not to a file.',
  read_only: 'The file cannot be changed.',
};

/** A workspace refused a path or could not read or write it. */
export class WorkspaceError extends XError {
  static override readonly brand = 'WorkspaceError';
  /** The path as it was given. */
  readonly path: string;

  constructor(code: WorkspaceErrorCode, path: string, message: string, options: XErrorOptions = {}) {
    super(code, message, { clientMessage: CLIENT_TEXTS[code], ...options });
    this.path = path;
  }
}
