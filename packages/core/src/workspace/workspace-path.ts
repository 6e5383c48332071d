import { WorkspaceError } from '../errors/workspace-error.js';

/**
 * The names that a workspace path consists of; none for the root. A leading `/` means the root, `.` and empty names
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
