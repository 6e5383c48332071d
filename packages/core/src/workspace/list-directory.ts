import type { Stats } from 'node:fs';
import { lstat, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { isInStorage } from './confined-path.js';
import { ABSENT, undefinedOn } from './io-error.js';
import { openPlace, type Place, REAL_DIRECTORY } from './place.js';
import type { WorkspaceEntry } from './workspace.js';

interface DirectoryListing {
  readonly recursive: boolean;
  /** Tests if an entry is omitted. */
  isHidden(path: string, name: string, directory: Place): Promise<boolean>;
  /** Tests if the real path of a link's target may be listed. Links to other targets are omitted. */
  isVisible(real: string): boolean;
}

/**
 * Lists a directory, sorted by path, under the workspace path `path`. Symbolic links are listed as their targets, without the targets'
 * contents. From a directory `.x` on, links are omitted.
 *
 * @param real The path of the directory, without links. If it now leads to another directory, nothing is listed.
 */
export async function* listDirectory(
  real: string,
  path: string,
  options: DirectoryListing,
): AsyncGenerator<WorkspaceEntry, void, undefined> {
  const found = await entriesOf(real, path, options);
  const names = [...found.keys()];
  // Whole paths sort `a.txt` before `a/b`, so the contents of a directory get their own sort key.
  const places = options.recursive ? names.flatMap((name) => [name, `${name}/`]) : names;
  for (const place of places.sort()) {
    const name = place.endsWith('/') ? place.slice(0, -1) : place;
    const { entry, isOwn } = found.get(name) ?? {};
    if (place === name) {
      if (entry) yield entry;
    } else if (isOwn && entry?.type === 'directory')
      yield* listDirectory(join(real, name), entry.path, options);
  }
}

interface Listed {
  readonly entry: WorkspaceEntry | undefined;
  /** Whether the entry itself is in this directory, and is not the target of a link. */
  readonly isOwn: boolean;
}

async function entriesOf(
  real: string,
  path: string,
  options: DirectoryListing,
): Promise<ReadonlyMap<string, Listed>> {
  const directory = await undefinedOn(ABSENT, openPlace(real, REAL_DIRECTORY));
  const listed = new Map<string, Listed>();
  if (directory === undefined) return listed;
  try {
    if (directory.real !== real) return listed;
    const lookUp = async ([name, own]: readonly [string, Stats]) => {
      const at = path === '' ? name : `${path}/${name}`;
      if (await options.isHidden(at, name, directory)) return;
      const isOwn = !own.isSymbolicLink();
      const stats = isOwn ? own : isInStorage(at) ? undefined : await targetOf(directory.at(name), options);
      const entry = entryOf(at, stats);
      const hardLinked = own.isFile() && own.nlink > 1 ? { hardLinked: idOf(own) } : {};
      const link = isOwn ? hardLinked : { isLink: true };
      listed.set(name, { entry: entry && { ...entry, ...link }, isOwn });
    };
    await Promise.all([...(await statsIn(directory))].map(lookUp));
    return listed;
  } finally {
    directory.close();
  }
}

async function targetOf(link: string, { isVisible }: DirectoryListing): Promise<Stats | undefined> {
  const place = await undefinedOn([...ABSENT, 'ELOOP', 'EACCES', 'EPERM'], openPlace(link));
  try {
    return place !== undefined && isVisible(place.real) ? await place.stat() : undefined;
  } finally {
    place?.close();
  }
}

/** Maximum number of attempts to read a directory whose entries disappear during the read. */
const MAX_LOOKS = 10;

/**
 * Returns a consistent snapshot of a directory. If one file replaces another during the read, at least one of them is included. Code
 * that replaces a version by the next one under another name relies on this.
 */
async function statsIn(directory: Place): Promise<ReadonlyMap<string, Stats>> {
  for (let look = 1; ; look++) {
    const names = (await undefinedOn(ABSENT, readdir(directory.self))) ?? [];
    const found = new Map<string, Stats>();
    const lookUp = async (name: string) => {
      const stats = await undefinedOn(ABSENT, lstat(directory.at(name)));
      if (stats !== undefined) found.set(name, stats);
    };
    await Promise.all(names.map(lookUp));
    if (found.size === names.length || look === MAX_LOOKS) return found;
  }
}

/** Converts the stats of a file or directory to an entry; `undefined` for anything else, such as a socket. */
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

/** Identifies a file by device and inode, which all its names share. */
export function idOf({ dev, ino }: Stats): string {
  return `${dev}:${ino}`;
}
