import { matchSequence, matchWildcard } from '../../lib/wildcard.js';

/** A path as a list of names. `..` remains only at the beginning, where it leads out of the root. */
export interface PlainPath {
  readonly names: readonly string[];
  /** Begins with `/`. */
  readonly absolute: boolean;
}

/** Normalizes `.`, `..` and repeated slashes by the text alone, without following symbolic links. */
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

/** Tests if a path matches a pattern: `**` matches any number of names, `*` and `?` match characters within one. */
export function matchPath(pattern: PlainPath, path: PlainPath): boolean {
  return matchSequence(pattern.names, path.names, {
    isAny: (name) => name === '**',
    isOne: matchWildcard,
  });
}

/** Tests if any path below this directory could match a pattern. */
export function couldMatch(pattern: PlainPath, directory: PlainPath): boolean {
  const { names } = pattern;
  // Positions in the pattern that may match next, after each name of the directory.
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

/** Parses a path pattern. A pattern that ends in `/` matches everything in the directory. */
export function pathPattern(pattern: string): PlainPath {
  return plainPath(pattern.endsWith('/') ? `${pattern}**` : pattern);
}

/**
 * Parses a path pattern of a deny or ask rule. If the pattern matches a folder, it also matches everything in the folder,
 * unless the pattern ends in the name `*`, which matches one level. Ignores case.
 */
export function coveringPattern(pattern: string): PlainPath {
  const { names, absolute } = pathPattern(folded(pattern));
  return { names: names.at(-1) === '*' ? names : [...names, '**'], absolute };
}

/**
 * Normalizes a name for deny rules: some file systems ignore case and Unicode composition, so these must not bypass a
 * rule.
 */
export function folded(text: string): string {
  return text.normalize('NFC').toLowerCase();
}
