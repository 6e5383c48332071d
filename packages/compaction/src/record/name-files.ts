import { type Entry, isCall } from './entry.js';

/** Minimum number of parts of a path that gets a shorter name. */
const FEWEST_PARTS = 3;

/**
 * Keeps the full path at a file's first mention and uses its name afterwards, with folders if another file has the same name.
 * Does not change other arguments, because a command may be run again.
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

/** Returns the endings of a path: the file name, then with one folder more each time, up to the full path. */
function endingsOf(path: string): readonly string[] {
  const parts = path.split('/');
  return parts.map((_, index) => parts.slice(-1 - index).join('/'));
}

/** Returns the endings that different files share. */
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

/** Tests if two paths can be of one file: they are equal, or one is an ending of the other. */
function isOneFile(one: string | undefined, other: string): boolean {
  return one === other || (one !== undefined && (one.endsWith(`/${other}`) || other.endsWith(`/${one}`)));
}
