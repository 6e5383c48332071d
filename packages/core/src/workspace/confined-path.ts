import { lstatSync, readlinkSync } from 'node:fs';
import { lstat } from 'node:fs/promises';
import { join, parse, relative, sep } from 'node:path';
import { WorkspaceError } from '../errors/workspace-error.js';
import { ABSENT, errorCode, undefinedOn } from './io-error.js';
import { openPlace, type Place } from './place.js';
import { STORAGE } from './workspace.js';

/** What a path leads to or, if that does not exist, the deepest directory on the way that does. */
export interface Found {
  readonly place: Place;
  /** The names that do not exist below the place. */
  readonly missing: readonly string[];
  /** The error of the system for what is missing. */
  readonly absence?: unknown;
}

/**
 * Opens what a path below `root` leads to, following symbolic links. From a directory `.x` on, no link is followed: what a harness
 * keeps would lie among the files of tools, or what is one user's among those of another. Close the place that is found.
 *
 * @param root A path that was real when the workspace was opened.
 * @param path As it was given, for errors.
 * @throws {WorkspaceError} `outside_workspace` if the place is not in `root`, or for such a link.
 */
export async function openInside(root: string, path: string, segments: readonly string[]): Promise<Found> {
  const kept = storageAt(segments);
  let place: Place | undefined;
  try {
    const found = await openDeepest(root, path, segments);
    place = found.place;
    const depth = segments.length - found.missing.length;
    // A negative depth is that of a directory above a root that is gone.
    if (depth >= 0 && !isInside(root, place.real)) throw leadsOut(path);
    const isLinked = kept >= 0 && kept < depth && place.real !== join(root, ...segments.slice(0, depth));
    if (isLinked) throw leadsOut(path);
    return found;
  } catch (error) {
    place?.close();
    // Names the link.
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
  // What is below a missing directory is missing: the deepest that exists is found by halves.
  let [found, missing] = [-1, segments.length];
  for (let depth = missing - 1; found + 1 < missing; depth = Math.floor((found + missing) / 2)) {
    const next = await open(depth);
    if (next === undefined) missing = depth;
    else {
      place?.close();
      [place, found] = [next, depth];
    }
  }
  if (place === undefined) return { ...(await openAbove(root, path, segments)), absence };
  try {
    // A link that leads nowhere yet is one through which a file could be made anywhere.
    const next = lstat(place.at(segments[found] ?? ''));
    if ((await undefinedOn([...ABSENT, 'EACCES', 'ENAMETOOLONG'], next))?.isSymbolicLink())
      throw leadsOut(path);
    if (!ABSENT.includes(errorCode(absence) ?? '')) throw absence;
    return { place, missing: segments.slice(found), absence };
  } catch (error) {
    place.close();
    throw error;
  }
}

/** The root is gone: a link may be on the way to it now. */
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
      `${part} is a symbolic link to ${readlinkSync(part)}, but an agent's storage must not be behind a link. Replace it by a ` +
        'directory, or choose another place with .storage(new LocalWorkspace(…)).',
    );
  }
}

/** Returns whether a workspace path is a directory `.x` or in one. */
export function isInStorage(path: string): boolean {
  return storageAt(path.split('/')) >= 0;
}

/** In upper or lower case: some file systems do not tell them apart. */
function storageAt(segments: readonly string[]): number {
  return segments.findIndex((segment) => segment.toLowerCase() === STORAGE);
}

/** The names from a directory down to what is in it. */
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
    `${JSON.stringify(path)} runs through a symbolic link that leads out of the workspace, or nowhere.`,
  );
}
