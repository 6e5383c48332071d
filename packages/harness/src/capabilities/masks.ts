import { existsSync, lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { WorkspaceError } from '@x/core';

/** The directory of a workspace that holds what the harness keeps. */
export const STORAGE = '.x';

/** The directory of a workspace that holds its locks. */
export const LOCKS = '.locks';

/** Mounts that hide folders. Each slows the start of a command, the more the more there are: these by half a second. */
const MAX_MOUNTS = 500;

/** Files below a working directory that a command is kept from. */
export interface KeptFiles {
  /** Directories and files that it must not see. They may not exist. */
  readonly hidden?: readonly string[];
  /** Directories and files that it may read, and not change. */
  readonly readOnly?: readonly string[];
}

/** What a sandbox mounts over its working directory, in this order, so that nothing kept in it is seen or changed. */
interface Masks {
  /**
   * Directories to mount on themselves. The kernel renames and removes no mount point, so what is below keeps the path by which
   * it is kept, also from the next command.
   */
  readonly pinned: readonly string[];
  /** Directories and files to mount on themselves for reading alone. */
  readonly fixed: readonly string[];
  /** Directories over which an empty one is laid. */
  readonly covered: readonly string[];
  /** Files over which nothing is laid. */
  readonly emptied: readonly string[];
}

/**
 * Says what hides the harness's own directory and others below `cwd`, and what keeps files from being changed. A folder that this process
 * may not look into is hidden whole: whose it is can open it again.
 *
 * @throws {WorkspaceError} where hiding would not last: below a symbolic link, in a directory that cannot be read, or for too
 * many places.
 */
export function masksOf(cwd: string, { hidden = [], readOnly = [] }: KeptFiles = {}): Masks {
  const places = new Map(hidden.flatMap((place) => coveredBy(cwd, place)));
  // Links of these names are no storage, and no locks.
  for (const own of [STORAGE, LOCKS].map((name) => join(cwd, name)))
    if (lstatSync(own, { throwIfNoEntry: false })?.isDirectory()) places.set(own, 'directory');
  const isCovered = (place: string) =>
    parentsOf(cwd, place).some((parent) => places.get(parent) === 'directory');
  const found = [...places.keys()].sort().filter((place) => !isCovered(place));
  const fixed = readOnly
    .filter((place) => !places.has(place) && !isCovered(place) && existsSync(place))
    .sort();
  const pinned = [...new Set([...found, ...fixed].flatMap((place) => parentsOf(cwd, place)))].sort();
  const mounts = pinned.length + fixed.length + found.length;
  if (mounts > MAX_MOUNTS) {
    const keeps = `hiding ${found.length + fixed.length} files and folders in it takes ${mounts} mounts, more than ${MAX_MOUNTS}`;
    throw refusal(
      cwd,
      `${keeps}. Use a directory further down, rules for whole folders, or delete folders ${STORAGE} that nobody needs`,
    );
  }
  const isFile = (place: string) => places.get(place) === 'file';
  return { pinned, fixed, covered: found.filter((place) => !isFile(place)), emptied: found.filter(isFile) };
}

/** What to cover for a place: itself, or a folder above that nobody here may look into. Nothing if there is nothing. */
function coveredBy(cwd: string, place: string): readonly (readonly [string, 'file' | 'directory'])[] {
  let above = cwd;
  for (const path of [...parentsOf(cwd, place), place]) {
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return [];
      if (found.isSymbolicLink())
        throw refusal(
          cwd,
          `${path}, which is to be hidden, is a symbolic link, which a command can turn elsewhere. Hide it by its real path`,
        );
      if (!found.isDirectory()) return path === place ? [[place, 'file']] : [];
    } catch (error) {
      if (!isDenied(error)) throw error;
      return [[above === cwd ? unreadable(cwd) : above, 'directory']];
    }
    above = path;
  }
  return [[place === cwd ? unreadable(cwd) : place, 'directory']];
}

/** The directories between `cwd` and a place, from above. */
function parentsOf(cwd: string, place: string): readonly string[] {
  const names = relative(cwd, place).split(sep).slice(0, -1);
  return names.map((_, index) => join(cwd, ...names.slice(0, index + 1)));
}

/** Returns whether a folder could not be looked at for want of a right. */
export function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function unreadable(cwd: string): never {
  throw refusal(
    cwd,
    'this process cannot read it, so it cannot hide files in it. Give the process the right to read it',
  );
}

function refusal(cwd: string, reason: string): WorkspaceError {
  return new WorkspaceError('outside_workspace', cwd, `Commands do not run in ${cwd}: ${reason}.`);
}
