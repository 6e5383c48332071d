import { type BigIntStats, realpathSync, type Stats } from 'node:fs';
import { lstat, readdir, stat } from 'node:fs/promises';
import { join, relative, sep } from 'node:path';
import type { FileRule, FileUse } from '@x/core/internal';
import { isDenied, type KeptFiles, STORAGE } from './masks.js';
import { folded, matchPath, pathPattern, plainPath } from './permissions/path-pattern.js';

/** Folders without sources, in which a storage is not looked for. */
const SKIPPED = ['.git', 'node_modules'];

/** A name in a folder. */
interface Entry {
  readonly name: string;
  readonly kind: 'file' | 'directory' | 'link';
}

/** The names in folders that were read, and what of each folder changes with them. */
export type Folders = Map<
  string,
  { readonly dev: bigint; readonly ino: bigint; readonly ctimeNs: bigint; readonly entries: readonly Entry[] }
>;

/** Milliseconds for which a change may leave a folder's time as it is: systems write times in ticks. */
const TICK_MS = 2_000;

interface Search {
  readonly folders: Folders;
  readonly signal: AbortSignal;
  /** The rules that deny files, and the directory from which they name them. */
  readonly rules: readonly FileRule[];
  readonly root: string;
}

/**
 * Finds what a command in a sandbox is kept from below its directory: what any agent keeps there, since nobody knows whose it is, and
 * the files that rules deny, by all their names. A rule for all that is in a folder, such as `secrets/**`, keeps the folder.
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

/** Tells which files rules about a use are about. Of a folder, all that is in it has to be. */
function fitsOf({ rules, root }: Search, use: FileUse): (path: string, kind: Entry['kind']) => boolean {
  const patterns = rules.filter((rule) => rule.use === use).map(({ match }) => pathPattern(folded(match)));
  if (patterns.length === 0) return () => false;
  const whole = patterns.filter(({ names }) => names.at(-1) === '**');
  return (path, kind) => {
    const name = plainPath(folded(relative(root, path).split(sep).join('/')));
    return (kind === 'directory' ? whole : patterns).some((pattern) => matchPath(pattern, name));
  };
}

/** The file that a symbolic link leads to, if it is below a directory: a program finds it there. */
function targetIn(directory: string, link: string): string | undefined {
  try {
    const target = realpathSync(link);
    return target.startsWith(join(directory, sep)) ? target : undefined;
  } catch {
    return undefined;
  }
}

/** Finds the other names of files. */
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
 * Finds what any agent keeps below a directory. A folder that this process may not look into is taken for such.
 * A folder is read again when its device, its inode or the time of its last change is another; a command cannot set that time, as it
 * can that of the contents.
 *
 * @param visit Is called for everything else.
 */
async function storagesBelow(
  directory: string,
  search: Search,
  visit: (path: string, kind: Entry['kind']) => void,
): Promise<readonly string[]> {
  search.signal.throwIfAborted();
  // If this is denied, the folder above is one into which nobody may look.
  const now = await stat(directory, { bigint: true }).catch(gone);
  if (now === undefined) return [];
  try {
    const entries = await entriesOf(directory, now, search.folders);
    const found = entries.map(({ name, kind }) => {
      const place = join(directory, name);
      if (kind === 'directory' && name.toLowerCase() === STORAGE) return [place];
      if (search.rules.length > 0) visit(place, kind);
      const isSearched = kind === 'directory' && (search.rules.length > 0 || !SKIPPED.includes(name));
      return isSearched ? storagesBelow(place, search, visit) : [];
    });
    return (await Promise.all(found)).flat();
  } catch (error) {
    // To read a folder, or to look at one in it, takes a right that its owner can give back to a command.
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

/** Takes a folder for empty that is gone. Any other failure would show what it holds. */
function gone(error: NodeJS.ErrnoException): undefined {
  if (!['ENOENT', 'ENOTDIR'].includes(error.code ?? '')) throw error;
}
