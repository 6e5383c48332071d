import { XError } from './x-error.js';

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

/** A workspace refused a path or could not read or write it. */
export class WorkspaceError extends XError {
  static override readonly brand = 'WorkspaceError';
  /** The path as it was given. */
  readonly path: string;

  constructor(code: WorkspaceErrorCode, path: string, message: string, options: { cause?: unknown } = {}) {
    super(code, message, options);
    this.path = path;
  }
}
