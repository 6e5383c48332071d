import { lstatSync, readlinkSync } from 'node:fs';
import { lstat, realpath } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { WorkspaceError } from '../errors/workspace-error.js';
import { ABSENT, undefinedOn } from './io-error.js';
import { STORAGE } from './workspace.js';

/**
 * Resolves a path below `root`: its deepest part that exists, with symbolic links followed, and what is still
 * missing below it. From a directory `.x` on, no link is followed: what a harness keeps would lie among the files of tools,
 * or what is one user's among those of another.
 *
 * @param root a path that was real when the workspace was opened.
 * @param path as it was given, for errors.
 * @throws {WorkspaceError} `outside_workspace` when that is not in `root`, or for such a link.
 */
export async function resolveInside(
  root: string,
  path: string,
  segments: readonly string[],
): Promise<string> {
  const kept = storageAt(segments);
  if (kept < 0) return follow(root, path, segments);
  const above = kept === 0 ? root : await follow(root, path, segments.slice(0, kept));
  const place = join(above, ...segments.slice(kept));
  const real = await follow(root, path, segments).catch((error: unknown) => {
    assertUnlinked(path, place);
    throw error;
  });
  if (real === place) return real;
  assertUnlinked(path, place);
  throw leadsOut(path);
}

async function follow(root: string, path: string, segments: readonly string[]): Promise<string> {
  // What lies below a missing directory is missing: the deepest that exists is found by halves.
  let [real, found, missing] = [root, -1, segments.length + 1];
  for (let depth = segments.length; found + 1 < missing; depth = Math.floor((found + missing) / 2)) {
    const at = await undefinedOn(ABSENT, realpath(join(root, ...segments.slice(0, depth))));
    if (at === undefined) missing = depth;
    else [real, found] = [at, depth];
  }
  if (found < 0) {
    // The root is gone: a link may be on the way to it now.
    const { root: top } = parse(root);
    if ((await follow(top, path, segmentsBelow(top, root))) !== root) throw leadsOut(path);
  }
  if (!isInside(root, real)) throw leadsOut(path);
  return below(path, real, segments.slice(Math.max(0, found)));
}

/**
 * Checks that no part of an absolute path, from its first directory `.x` on, is a symbolic link.
 *
 * @param path as it was given, for errors.
 * @throws {WorkspaceError} `outside_workspace` naming the link.
 */
export function assertUnlinked(path: string, place: string): void {
  const segments = place.split(sep);
  const kept = storageAt(segments);
  for (let end = kept + 1; kept >= 0 && end <= segments.length; end++) {
    const part = segments.slice(0, end).join(sep);
    if (!lstatSync(part, { throwIfNoEntry: false })?.isSymbolicLink()) continue;
    throw new WorkspaceError(
      'outside_workspace',
      path,
      `${part} is a symbolic link to ${readlinkSync(part)}, and what agents keep is not looked for behind links. Make it a ` +
        'directory, or keep that elsewhere, with .storage(new LocalWorkspace(…)).',
    );
  }
}

/** Tells whether a workspace path is a directory `.x` or in one. */
export function isInStorage(path: string): boolean {
  return storageAt(path.split('/')) >= 0;
}

/** In upper or lower case: some file systems do not tell them apart. */
function storageAt(segments: readonly string[]): number {
  return segments.findIndex((segment) => segment.toLowerCase() === STORAGE);
}

/** The names from a directory down to what is in it. */
export function segmentsBelow(root: string, real: string): readonly string[] {
  return relative(root, real).split(sep);
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
