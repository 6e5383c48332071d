import type { Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { isInStorage, targetInside } from './confined-path.js';
import { ABSENT, undefinedOn } from './io-error.js';
import type { WorkspaceEntry } from './workspace.js';

interface DirectoryListing {
  /** A real path. Symbolic links that lead out of it are left out. */
  readonly root: string;
  readonly recursive: boolean;
  /** Leaves an entry out. */
  isHidden(path: string, file: string): Promise<boolean>;
  /** Tests the real path that a link leads to. */
  isVisible(real: string): boolean;
}

/**
 * Lists a directory, sorted by path, under the workspace path `path`. Symbolic links appear as what they lead
 * to; their contents are not listed again. From a directory `.x` on they are left out.
 */
export async function* listDirectory(
  directory: string,
  path: string,
  options: DirectoryListing,
): AsyncGenerator<WorkspaceEntry, void, undefined> {
  const found = await entriesOf(directory);
  const names = [...found.keys()];
  // Whole paths sort `a.txt` before `a/b`: the contents of a directory have a place of their own.
  const places = options.recursive ? names.flatMap((name) => [name, `${name}/`]) : names;
  const directories = new Set<string>();
  for (const place of places.sort()) {
    const name = place.endsWith('/') ? place.slice(0, -1) : place;
    const file = join(directory, name);
    const childPath = path === '' ? name : `${path}/${name}`;
    if (place !== name) {
      if (directories.has(name)) yield* listDirectory(file, childPath, options);
      continue;
    }
    if (await options.isHidden(childPath, file)) continue;
    let stats = found.get(name);
    if (stats?.isDirectory()) directories.add(name);
    if (stats?.isSymbolicLink()) {
      const target = isInStorage(childPath) ? undefined : await targetInside(options.root, file);
      stats =
        target !== undefined && options.isVisible(target)
          ? await undefinedOn(ABSENT, stat(target))
          : undefined;
    }
    const entry = entryOf(childPath, stats);
    if (entry !== undefined) yield entry;
  }
}

/** How often a directory is looked at again whose names go while they are looked up. */
const MAX_LOOKS = 10;

/**
 * What a directory holds, as one moment shows it: a name that takes another's place while they are looked up is there, or
 * the other one. Who replaces a file by one of another name, such as a version by the next, relies on it.
 */
async function entriesOf(directory: string): Promise<ReadonlyMap<string, Stats>> {
  for (let look = 1; ; look++) {
    const names = (await undefinedOn(ABSENT, readdir(directory))) ?? [];
    const found = new Map<string, Stats>();
    const lookUp = async (name: string) => {
      const stats = await undefinedOn(ABSENT, lstat(join(directory, name)));
      if (stats !== undefined) found.set(name, stats);
    };
    await Promise.all(names.map(lookUp));
    if (found.size === names.length || look === MAX_LOOKS) return found;
  }
}

/** A file or directory as an entry; `undefined` for anything else, such as a socket. */
export function entryOf(path: string, found: Stats | undefined): WorkspaceEntry | undefined {
  if (found === undefined || !(found.isFile() || found.isDirectory())) return undefined;
  const isFile = found.isFile();
  return {
    path,
    type: isFile ? 'file' : 'directory',
    size: isFile ? found.size : 0,
    modifiedAt: found.mtime.toISOString(),
  };
}
