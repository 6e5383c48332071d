import { type Entry, isCall } from './entry.js';

/** Folders and name of a path that is worth a shorter name. */
const FEWEST_PARTS = 3;

/**
 * Tells the path of a file the first time, from then on its name, behind folders where another file has that name. Other
 * words of calls stay as they are: a command may be run again.
 */
export function nameFiles(entries: readonly Entry[]): readonly Entry[] {
  const files = entries.flatMap((entry) => (isCall(entry) ? (entry.file ?? []) : []));
  const shared = sharedEndings(new Set(files));
  const told = new Map<string, string>();
  return entries.map((entry) => {
    if (!isCall(entry) || entry.file === undefined) return entry;
    const { name: before, ...whole } = entry;
    const endings = endingsOf(entry.file);
    const isKnown = (ending: string) =>
      !shared.has(ending) && isOneFile(told.get(ending), entry.file as string);
    const name = endings.length < FEWEST_PARTS ? undefined : endings.find(isKnown);
    for (const ending of endings) if (!told.has(ending)) told.set(ending, entry.file);
    return name === before ? entry : name === undefined ? whole : { ...whole, name };
  });
}

/** A path's last name, with one folder in front of it, and so on up to all of it. */
function endingsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(-1 - index).join('/'));
}

/** The endings that paths of different files have. */
function sharedEndings(paths: Iterable<string>): ReadonlySet<string> {
  const owners = new Map<string, string>();
  const shared = new Set<string>();
  for (const path of paths) {
    for (const ending of endingsOf(path)) {
      const owner = owners.get(ending);
      if (owner === undefined) owners.set(ending, path);
      else if (!isOneFile(owner, path)) shared.add(ending);
    }
  }
  return shared;
}

/** Tests for paths of one file: the same, or one of them from a folder on the other's way. */
function isOneFile(one: string | undefined, other: string): boolean {
  return one === other || (one !== undefined && (one.endsWith(`/${other}`) || other.endsWith(`/${one}`)));
}
