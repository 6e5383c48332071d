import { matchSequence, matchWildcard } from '../../lib/wildcard.js';

/** A path as names from a root; `..` stays only where it leads out of the root. */
export interface PlainPath {
  readonly names: readonly string[];
  /** Begins with `/`. */
  readonly absolute: boolean;
}

/** Resolves `.`, `..` and doubled slashes by the text alone: symbolic links go by their own name. */
export function plainPath(path: string): PlainPath {
  const absolute = path.startsWith('/');
  const names: string[] = [];
  for (const name of path.split('/')) {
    if (name === '' || name === '.') continue;
    if (name !== '..') names.push(name);
    else if (names.length > 0 && names.at(-1) !== '..') names.pop();
    else if (!absolute) names.push(name);
  }
  return { names, absolute };
}

/** Returns whether a path fits a pattern: `**` stands for any number of names, `*` and `?` for characters within one. */
export function matchPath(pattern: PlainPath, path: PlainPath): boolean {
  return matchSequence(pattern.names, path.names, {
    isAny: (name) => name === '**',
    isOne: matchWildcard,
  });
}

/** Returns whether a path in this directory, however deep, may fit a pattern. */
export function mayHold(pattern: PlainPath, directory: PlainPath): boolean {
  const { names } = pattern;
  // The rests of the pattern that may come next, after each name of the directory.
  let places = withSkipped([0]);
  for (const name of directory.names) {
    const next = [...places].flatMap((place) => {
      const element = names[place];
      if (element === '**') return [place];
      return element !== undefined && matchWildcard(element, name) ? [place + 1] : [];
    });
    places = withSkipped(next);
  }
  return places.size > 0;

  function withSkipped(from: readonly number[]): ReadonlySet<number> {
    const reached = new Set(from);
    for (const place of reached) if (names[place] === '**') reached.add(place + 1);
    return reached;
  }
}

/** A pattern of paths: one that ends in `/` means all that is in the directory. */
export function pathPattern(pattern: string): PlainPath {
  return plainPath(pattern.endsWith('/') ? `${pattern}**` : pattern);
}

/** File systems differ in whether case and composition of letters matter: to them that must not be got around, neither does. */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
