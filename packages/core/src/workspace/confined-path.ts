import { lstatSync, readlinkSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { WorkspaceError } from '../errors/workspace-error.js';
import { ABSENT, errorCode, undefinedOn } from './io-error.js';
import { openPlace, type Place } from './place.js';
import { STORAGE } from './workspace.js';

/** The target of a path or, if it does not exist, the deepest existing directory on the way to it. */
export interface Found {
  readonly place: Place;
  /** The names that do not exist below the place. */
  readonly missing: readonly string[];
  /** The system error for the missing part. */
  readonly absence?: unknown;
}

/**
 * Opens the target of a path below `root`, following symbolic links. From a directory `.x` on, links are rejected: a link could place a
 * harness's files among those of tools, or one user's files among those of another. Callers must close the returned place.
 *
 * @param root The real path of the root when the workspace was opened.
 * @param path The path as the caller gave it, for errors.
 * @throws {WorkspaceError} `outside_workspace` if the target is not in `root`, or for a link from a directory `.x` on.
 */
export async function openInside(root: string, path: string, segments: readonly string[]): Promise<Found> {
  const kept = storageAt(segments);
  let place: Place | undefined;
  try {
    const found = await openDeepest(root, path, segments);
    place = found.place;
    const depth = segments.length - found.missing.length;
    // A negative depth means that the root is gone, and a directory above it was opened.
    if (depth >= 0 && !isInside(root, place.real)) throw leadsOut(path);
    const isLinked = kept >= 0 && kept < depth && place.real !== join(root, ...segments.slice(0, depth));
    if (isLinked) throw leadsOut(path);
    return found;
  } catch (error) {
    place?.close();
    // Throws a more precise error that names the link.
    if (kept >= 0) assertUnlinked(path, join(root, ...segments));
    throw error;
  }
}

async function openDeepest(root: string, path: string, segments: readonly string[]): Promise<Found> {
  let absence: unknown;
  const open = (depth: number) =>
    openPlace(join(root, ...segments.slice(0, depth))).catch((error: unknown) => {
      absence ??= error;
      return undefined;
    });
  let place = await open(segments.length);
  if (place !== undefined) return { place, missing: [] };
  // Everything below a missing directory is missing, so a binary search finds the deepest existing one.
  let [found, missing] = [-1, segments.length];
  for (let depth = missing - 1; found + 1 < missing; depth = Math.floor((found + missing) / 2)) {
    const next = await open(depth);
    if (next === undefined) missing = depth;
    else {
      place?.close();
      [place, found] = [next, depth];
    }
  }
  const isAbsent = ABSENT.includes(errorCode(absence) ?? '');
  if (place === undefined && !isAbsent) throw absence;
  if (place === undefined) return { ...(await openAbove(root, path, segments)), absence };
  try {
    // Reject a dangling link, because creating a file through it could create the file anywhere.
    const next = lstat(place.at(segments[found] ?? ''));
    if ((await undefinedOn([...ABSENT, 'EACCES', 'ENAMETOOLONG'], next))?.isSymbolicLink())
      throw leadsOut(path);
    if (!isAbsent) throw absence;
    return { place, missing: segments.slice(found), absence };
  } catch (error) {
    place.close();
    throw error;
  }
}

/** Opens the deepest existing directory above a root that is gone. Rejects links on the way to the root. */
async function openAbove(root: string, path: string, segments: readonly string[]): Promise<Found> {
  const { root: top } = parse(root);
  const names = segmentsBelow(top, root);
  if (names.length === 0) throw leadsOut(path);
  const { place, missing } = await openDeepest(top, path, names);
  if (place.real === join(top, ...names.slice(0, names.length - missing.length)))
    return { place, missing: [...missing, ...segments] };
  place.close();
  throw leadsOut(path);
}

/**
 * Checks that no part of an absolute path, from its first directory `.x` on, is a symbolic link.
 *
 * @param path The path as the caller gave it, for errors.
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
      `${part} is a symbolic link to ${readlinkSync(part)}, but an agent's storage must not be behind a link. Replace it by a ` +
        'directory, or choose another place with .storage(new LocalWorkspace(…)).',
    );
  }
}

/** Tests if a workspace path is a directory `.x` or inside one. */
export function isInStorage(path: string): boolean {
  return storageAt(path.split('/')) >= 0;
}

/** Returns the index of the first directory `.x`, or -1. Ignores case, because some file systems do. */
function storageAt(segments: readonly string[]): number {
  return segments.findIndex((segment) => segment.toLowerCase() === STORAGE);
}

/** Returns the names on the way from a directory to a path inside it. */
export function segmentsBelow(root: string, real: string): readonly string[] {
  return relative(root, real)
    .split(sep)
    .filter((name) => name !== '');
}

export function isInside(root: string, real: string): boolean {
  return real === root || real.startsWith(root.endsWith(sep) ? root : root + sep);
}

function leadsOut(path: string): WorkspaceError {
  return new WorkspaceError(
    'outside_workspace',
    path,
    `${JSON.stringify(path)} contains a symbolic link that leads out of the workspace, or to a missing file.`,
  );
}
