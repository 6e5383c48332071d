import { type BigIntStats, realpathSync, type Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { FileRule, FileUse } from '@x/core/internal';
import { isDenied, type KeptFiles, STORAGE } from './masks.js';
import { coveringPattern, folded, matchPath, plainPath } from './permissions/path-pattern.js';

/** Folders without sources. They are not searched for storage directories. */
const SKIPPED = ['.git', 'node_modules'];

/** A name in a folder. */
interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link';
}

/** Cache of directory listings by path, with the metadata that changes when a listing does. */
export type Folders = Map<
  string,
  { readonly dev: bigint; readonly ino: bigint; readonly ctimeNs: bigint; readonly entries: readonly Entry[] }
>;

/**
 * Milliseconds within which two changes of a folder may have the same timestamp, because file systems update times in
 * ticks.
 */
const TICK_MS = 2_000;

interface Search {
  readonly folders: Folders;
  readonly signal: AbortSignal;
  /** Rules that deny files, and the directory that their paths are relative to. */
  readonly rules: readonly FileRule[];
  readonly root: string;
}

/**
 * Finds the paths below a directory that a sandbox protects from a command: the storage of any agent, and every path, including links, of
 * the files that rules deny. A rule for everything in a folder, such as `secrets/**`, protects the folder.
 */
export async function keptBelow(cwd: string, search: Search): Promise<Required<KeptFiles>> {
  const fits = { read: fitsOf(search, 'read'), write: fitsOf(search, 'write') };
  const files: string[] = [];
  const hidden = new Set<string>();
  const readOnly = new Set<string>();
  const visit = (path: string, kind: Entry['kind']) => {
    if (kind === 'file') files.push(path);
    for (const [use, places] of [
      ['read', hidden],
      ['write', readOnly],
    ] as const) {
      if (!fits[use](path, kind)) continue;
      const place = kind === 'link' ? targetIn(cwd, path) : path;
      if (place !== undefined) places.add(place);
    }
  };
  for (const place of await storagesBelow(cwd, search, visit)) hidden.add(place);
  for (const places of [hidden, readOnly])
    for (const path of await hardLinksOf(places, files)) places.add(path);
  return { hidden: [...hidden], readOnly: [...readOnly] };
}

/**
 * Returns a function that tests if a rule about this use covers a path. A folder matches only if a rule covers
 * everything in it.
 */
function fitsOf({ rules, root }: Search, use: FileUse): (path: string, kind: Entry['kind']) => boolean {
  const patterns = rules.filter((rule) => rule.use === use).map(({ match }) => coveringPattern(match));
  if (patterns.length === 0) return () => false;
  const whole = patterns.filter(({ names }) => names.at(-1) === '**');
  return (path, kind) => {
    const name = plainPath(folded(relative(root, path).split(sep).join('/')));
    return (kind === 'directory' ? whole : patterns).some((pattern) => matchPath(pattern, name));
  };
}

/** Returns the target of a symbolic link if it is below a directory, where a program could reach it directly. */
function targetIn(directory: string, link: string): string | undefined {
  try {
    const target = realpathSync(link);
    return target.startsWith(join(directory, sep)) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** Finds all hard links to the given files. */
async function hardLinksOf(
  places: ReadonlySet<string>,
  files: readonly string[],
): Promise<readonly string[]> {
  const own = files.filter((file) => places.has(file));
  const ids = new Set(
    (await statsOf(own)).flatMap(([, { nlink, dev, ino }]) => (nlink > 1 ? `${dev}:${ino}` : [])),
  );
  if (ids.size === 0) return [];
  return (await statsOf(files)).flatMap(([file, { dev, ino }]) => (ids.has(`${dev}:${ino}`) ? file : []));
}

async function statsOf(files: readonly string[]): Promise<readonly (readonly [string, Stats])[]> {
  const found = await Promise.all(files.map(async (file) => [file, await lstat(file).catch(gone)] as const));
  return found.flatMap(([file, stats]) => (stats === undefined ? [] : [[file, stats] as const]));
}

/**
 * Finds the storage of any agent below a directory. Treats a folder that this process may not read as storage. Reads a
 * folder again if its device, inode or change time differ; unlike the modification time, a command cannot set the
 * change time.
 *
 * @param visit Called for every other entry.
 */
async function storagesBelow(
  directory: string,
  search: Search,
  visit: (path: string, kind: Entry['kind']) => void,
): Promise<readonly string[]> {
  search.signal.throwIfAborted();
  // If `stat` is denied, the parent folder is the unreadable one.
  const now = await stat(directory, { bigint: true }).catch(gone);
  if (now === undefined) return [];
  try {
    const entries = await entriesOf(directory, now, search.folders);
    const isAny = search.rules.length > 0;
    // A name that is not valid UTF-8 cannot be masked, so mask the folder.
    if (entries.some(({ name, kind }) => (isAny || kind === 'directory') && name.includes('\ufffd')))
      return [directory];
    const found = entries.map(({ name, kind }) => {
      const place = join(directory, name);
      if (kind === 'directory' && name.toLowerCase() === STORAGE) return [place];
      if (isAny) visit(place, kind);
      const isSearched = kind === 'directory' && (isAny || !SKIPPED.includes(name));
      return isSearched ? storagesBelow(place, search, visit) : [];
    });
    return (await Promise.all(found)).flat();
  } catch (error) {
    // A folder without read permission is hidden, because its owner could grant a command access again.
    if (!isDenied(error)) throw error;
    return [directory];
  }
}

async function entriesOf(
  directory: string,
  { dev, ino, ctimeNs }: BigIntStats,
  folders: Folders,
): Promise<readonly Entry[]> {
  const known = folders.get(directory);
  if (known?.dev === dev && known.ino === ino && known.ctimeNs === ctimeNs) return known.entries;
  const found = (await readdir(directory, { withFileTypes: true }).catch(gone)) ?? [];
  const entries = found.map((entry): Entry => {
    const kind = entry.isDirectory() ? 'directory' : entry.isSymbolicLink() ? 'link' : 'file';
    return { name: entry.name, kind };
  });
  if (ctimeNs < BigInt(Date.now() - TICK_MS) * 1_000_000n)
    folders.set(directory, { dev, ino, ctimeNs, entries });
  return entries;
}

/** Treats a missing folder as empty. Ignoring any other error would expose its content. */
function gone(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
}
