import { lstat, realpath } from 'node:fs/promises';
import { join, sep } from 'node:path';
import { WorkspaceError } from '../errors/workspace-error.js';
import { ABSENT, undefinedOn } from './io-error.js';

/**
 * Resolves a path below `root`: its deepest part that exists, with symbolic links followed, and what is still
 * missing below it.
 *
 * @param root a real path.
 * @param path as it was given, for errors.
 * @throws {WorkspaceError} `outside_workspace` when that is not in `root`.
 */
export async function resolveInside(
  root: string,
  path: string,
  segments: readonly string[],
): Promise<string> {
  // What lies below a missing directory is missing: the deepest that exists is found by halves.
  let [real, found, missing] = [root, 0, segments.length + 1];
  for (let depth = segments.length; found + 1 < missing; depth = Math.floor((found + missing) / 2)) {
    const at = await undefinedOn(ABSENT, realpath(join(root, ...segments.slice(0, depth))));
    if (at === undefined) missing = depth;
    else [real, found] = [at, depth];
  }
  if (!isInside(root, real)) throw leadsOut(path);
  return below(path, real, segments.slice(found));
}

/** Finds the file that a symbolic link leads to; `undefined` when there is none in `root`. */
export async function targetInside(root: string, link: string): Promise<string | undefined> {
  const real = await undefinedOn([...ABSENT, 'ELOOP'], realpath(link));
  return real !== undefined && isInside(root, real) ? real : undefined;
}

// A link that leads nowhere yet is one through which a file could be made anywhere.
async function below(path: string, directory: string, missing: readonly string[]): Promise<string> {
  const next = missing[0];
  if (next !== undefined) {
    const found = await undefinedOn(ABSENT, lstat(join(directory, next)));
    if (found?.isSymbolicLink()) throw leadsOut(path);
  }
  return join(directory, ...missing);
}

function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

function leadsOut(path: string): WorkspaceError {
  return new WorkspaceError(
    'outside_workspace',
    path,
    `${JSON.stringify(path)} runs through a symbolic link that leads out of the workspace, or nowhere.`,
  );
}
