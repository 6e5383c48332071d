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
  const names = (await undefinedOn(ABSENT, readdir(directory))) ?? [];
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
    let found = await undefinedOn(ABSENT, lstat(file));
    if (found?.isDirectory()) directories.add(name);
    if (found?.isSymbolicLink()) {
      const target = isInStorage(childPath) ? undefined : await targetInside(options.root, file);
      found =
        target !== undefined && options.isVisible(target)
          ? await undefinedOn(ABSENT, stat(target))
          : undefined;
    }
    const entry = entryOf(childPath, found);
    if (entry !== undefined) yield entry;
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
