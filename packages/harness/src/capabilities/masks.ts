import { lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { WorkspaceError } from '@x/core';

/** The directory of a workspace that holds what the harness keeps. */
export const STORAGE = '.x';

/** Mounts that hide folders. Each slows the start of a command, the more the more there are: these by half a second. */
const MAX_MOUNTS = 500;

/** What a sandbox mounts over its working directory, in this order, so that nothing hidden in it is seen. */
interface Masks {
  /**
   * Directories to mount on themselves. The kernel renames and removes no mount point, so what lies below keeps the path by which
   * it is hidden, also from the next command.
   */
  readonly pinned: readonly string[];
  /** Directories over which an empty one is laid. */
  readonly covered: readonly string[];
}

/**
 * Says what hides the harness's own directory and others below `cwd`. A folder that this process may not look into is hidden whole:
 * whose it is can open it again.
 *
 * @param hidden Paths below `cwd`. They may not exist.
 * @throws {WorkspaceError} where hiding would not last: below a symbolic link or for a file, in a directory that cannot be read, or for too
 * many folders.
 */
export function masksOf(cwd: string, hidden: readonly string[] = []): Masks {
  const places = new Set(hidden.map((place) => coveredBy(cwd, place)));
  // A link of this name is no storage.
  const own = join(cwd, STORAGE);
  if (lstatSync(own, { throwIfNoEntry: false })?.isDirectory()) places.add(own);
  const found = [...places].filter((place) => place !== undefined).sort();
  const covered = found.filter((place) => !parentsOf(cwd, place).some((parent) => places.has(parent)));
  const pinned = [...new Set(covered.flatMap((place) => parentsOf(cwd, place)))].sort();
  if (pinned.length + covered.length > MAX_MOUNTS) {
    const hides = `to hide ${covered.length} folders in it takes ${pinned.length + covered.length} mounts, more than ${MAX_MOUNTS}`;
    throw refusal(
      cwd,
      `${hides}. Use a directory further down, or delete folders ${STORAGE} that nobody needs`,
    );
  }
  return { pinned, covered };
}

/** The directory to cover for a place; `undefined` where there is none. */
function coveredBy(cwd: string, place: string): string | undefined {
  let above = cwd;
  for (const path of [...parentsOf(cwd, place), place]) {
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return undefined;
      if (!found.isDirectory()) {
        const what = found.isSymbolicLink()
          ? 'a symbolic link, which a command can turn elsewhere'
          : 'a file';
        throw refusal(cwd, `${path}, which is to be hidden, is ${what}. Hide a folder by its real path`);
      }
    } catch (error) {
      if (!isDenied(error)) throw error;
      return above === cwd ? unreadable(cwd) : above;
    }
    above = path;
  }
  return place === cwd ? unreadable(cwd) : place;
}

/** The directories between `cwd` and a place, from above. */
function parentsOf(cwd: string, place: string): readonly string[] {
  const names = relative(cwd, place).split(sep).slice(0, -1);
  return names.map((_, index) => join(cwd, ...names.slice(0, index + 1)));
}

/** Tells whether a folder could not be looked at for want of a right. */
export function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function unreadable(cwd: string): never {
  throw refusal(
    cwd,
    'nobody here may read it, so what to hide in it is not known. Give this process the right',
  );
}

function refusal(cwd: string, reason: string): WorkspaceError {
  return new WorkspaceError('outside_workspace', cwd, `Commands do not run in ${cwd}: ${reason}.`);
}
