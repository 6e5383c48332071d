import { existsSync, lstatSync } from 'node:fs';
import { join, relative, sep } from 'node:path';
import { WorkspaceError } from '@x/core';

/** Name of the workspace directory for the harness's own data. */
export const STORAGE = '.x';

/** Name of the workspace directory for its locks. */
export const LOCKS = '.locks';

/** Files of a repository that name programs which Git runs later, outside of the sandbox. */
const OF_GIT = ['config', 'hooks'];

/**
 * Maximum number of mounts that hide or pin paths. Each mount slows the start of a command; this many take half a
 * second.
 */
const MAX_MOUNTS = 500;

/** Files below a working directory that a sandbox protects from a command. */
export interface KeptFiles {
  /** Directories and files that the command must not see. They may not exist. */
  readonly hidden?: readonly string[];
  /** Directories and files that the command may read but not change. */
  readonly readOnly?: readonly string[];
}

/** Mounts over the working directory of a sandbox, in this order, that protect the kept files. */
interface Masks {
  /**
   * Directories to mount on themselves. The kernel does not rename or remove a mount point, so the paths of protected
   * files stay valid for the next command.
   */
  readonly pinned: readonly string[];
  /** Directories and files to mount on themselves read-only. */
  readonly fixed: readonly string[];
  /** Directories to cover with an empty directory. */
  readonly covered: readonly string[];
  /** Files to cover with an empty file. */
  readonly emptied: readonly string[];
}

/**
 * Computes the mounts that hide the harness's own directories and other paths below `cwd`, and that protect files from
 * changes, such as the hooks and the configuration of a Git repository in `cwd`. If this process may not read a folder, the whole folder is
 * hidden, because its owner can make it readable again.
 *
 * @throws {WorkspaceError} if a path cannot be hidden reliably: below a symbolic link, in an unreadable directory, or among too
 * many places.
 */
export function masksOf(cwd: string, { hidden = [], readOnly = [] }: KeptFiles = {}): Masks {
  const places = new Map(hidden.flatMap((place) => coveredBy(cwd, place)));
  // Symbolic links with these names are neither storage nor locks.
  for (const own of [STORAGE, LOCKS].map((name) => join(cwd, name)))
    if (isFolder(own)) places.set(own, 'directory');
  const git = isFolder(join(cwd, '.git')) ? OF_GIT.map((name) => join(cwd, '.git', name)) : [];
  // Cover missing hooks, because a command could create them.
  for (const place of git) if (place.endsWith('hooks') && !existsSync(place)) places.set(place, 'directory');
  const isCovered = (place: string) =>
    parentsOf(cwd, place).some((parent) => places.get(parent) === 'directory');
  const found = [...places.keys()].sort().filter((place) => !isCovered(place));
  const fixed = [...new Set([...readOnly, ...git])]
    .filter((place) => !places.has(place) && !isCovered(place) && existsSync(place))
    .sort();
  const pinned = [...new Set([...found, ...fixed].flatMap((place) => parentsOf(cwd, place)))].sort();
  const mounts = pinned.length + fixed.length + found.length;
  if (mounts > MAX_MOUNTS) {
    const keeps = `hiding ${found.length + fixed.length} files and folders in it takes ${mounts} mounts, more than ${MAX_MOUNTS}`;
    throw refusal(
      cwd,
      `${keeps}. Use a directory further down, rules for whole folders, or delete unused ${STORAGE} folders`,
    );
  }
  const isFile = (place: string) => places.get(place) === 'file';
  return { pinned, fixed, covered: found.filter((place) => !isFile(place)), emptied: found.filter(isFile) };
}

function isFolder(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false })?.isDirectory() ?? false;
}

/**
 * Returns the path to cover in order to hide a place: the place itself, or a parent folder that this process cannot
 * read. Returns an empty list if the place does not exist.
 */
function coveredBy(cwd: string, place: string): readonly (readonly [string, 'file' | 'directory'])[] {
  let above = cwd;
  for (const path of [...parentsOf(cwd, place), place]) {
    try {
      const found = lstatSync(path, { throwIfNoEntry: false });
      if (found === undefined) return [];
      if (found.isSymbolicLink())
        throw refusal(
          cwd,
          `${path} cannot be hidden, because it is a symbolic link, which a command can change. Hide its real path instead`,
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

/** Returns the directories between `cwd` and a place, outermost first. */
function parentsOf(cwd: string, place: string): readonly string[] {
  const names = relative(cwd, place).split(sep).slice(0, -1);
  return names.map((_, index) => join(cwd, ...names.slice(0, index + 1)));
}

/** Tests if an error means that a permission is missing. */
export function isDenied(error: unknown): boolean {
  return ['EACCES', 'EPERM'].includes((error as NodeJS.ErrnoException).code ?? '');
}

function unreadable(cwd: string): never {
  throw refusal(
    cwd,
    'this process cannot read it, or a name in it is not valid UTF-8, so files in it cannot be hidden. Give the process the right to read it, or rename the file',
  );
}

function refusal(cwd: string, reason: string): WorkspaceError {
  return new WorkspaceError('outside_workspace', cwd, `Commands do not run in ${cwd}: ${reason}.`);
}
