import { matchWildcard } from '../../lib/wildcard.js';
import { baseName, readLine } from './command-line.js';

/** Maximum length in characters of a path that a system opens. */
const MAX_PATH = 4_096;
/**
 * Maximum number of paths that are checked for one line. Each step of a path with `..` counts four times, because the
 * workspace may begin at any of them.
 */
const MAX_PATHS = 2_000;
/** Maximum number of files that the directory walks of a line visit. More would delay every call by seconds. */
export const MAX_FOUND = 20_000;

/** Maximum number of options in one word, or before the words of a command. */
export const MAX_OPTIONS = 256;

/** Matches paths that may leave the working directory: absolute paths, and paths with `..`, which may follow a symbolic link. */
const OUT = /^\/(?!dev\/null$)|(?:^|\/)\.\.(?:\/|$)/;

/** Returns the files below a directory, or the file at this path. Returns `undefined` if there are too many. */
type FilesBelow = (path: string) => Promise<readonly string[] | undefined>;

/**
 * Finds the paths that a line may open: each word and its parts, relative to every directory that it may enter, and the
 * files below directories that a command walks (`found`). The line cannot open other files if it is literal (`isClear`)
 * and all its programs are known (`isKnown`), except to change them (`changesAny`). Returns `undefined` if the line
 * leads to too many places; then it may open any file.
 */
export async function pathsOf(line: string, directory: string, filesBelow: FilesBelow) {
  const { commands, ...rest } = readLine(line);
  const pieces = commands.flatMap(({ words }) => words).map(piecesOf);
  if (!pieces.every((each) => each !== undefined)) return undefined;
  const copies = commands.flatMap(({ effect: { into, below = [] } }) =>
    into === undefined ? [] : below.map((each) => `${into}/${baseName(each)}`),
  );
  const parts = [...new Set([...pieces.flat(), ...copies])];
  const cost = parts.reduce((sum, each) => sum + (each.includes('..') ? 4 * each.split('/').length : 1), 0);
  const directories = new Set([directory && `${directory}/`]);
  const places = (paths: readonly string[]) =>
    paths.flatMap((path) => [...directories].map((begin) => (path.startsWith('/') ? path : begin + path)));
  const entered = commands.flatMap(({ words: [name, to = ''] }) => (name === 'cd' ? [to] : []));
  for (const each of ['', ...entered]) {
    for (const place of places([each])) directories.add(place.replace(/[^/]$/, '$&/'));
    if (cost * directories.size > MAX_PATHS) return undefined;
  }
  const found: string[] = [];
  for (const { below, name = '*', script } of commands.map(({ effect }) => effect)) {
    // A walk that begins or leads outside the working directory may reach any file.
    if (below && [...entered, ...below].some((path) => OUT.test(path))) return undefined;
    for (const begin of new Set(places(below ?? []))) {
      const files = await filesBelow(begin);
      if (files === undefined || (files.length === 0 && baseName(begin) === script)) return undefined;
      if (found.push(...files.filter((path) => matchWildcard(name, baseName(path)))) > MAX_FOUND)
        return undefined;
    }
  }
  return { named: places(parts), found, ...rest };
}

/**
 * Returns a word and the parts of it that a command may use as a path: after options, between special characters,
 * without quotes. Returns `undefined` if there are too many.
 */
export function piecesOf(word: string): readonly string[] | undefined {
  // The last short option may have its value attached: `-hfpatterns`.
  const options = /^[-+]:?[A-Za-z\d]+/.exec(word)?.[0].length ?? 0;
  // These characters may enclose a path within a word: `-F 'f=@name;type=x'`. A path itself may contain up to three of them.
  const signs = [...word.matchAll(/[=:,@;<>()!|&?#\s'"`$[\]{}]/g)].map(({ index }) => index);
  if (options > MAX_OPTIONS || signs.length > MAX_PATHS) return undefined;
  const pieces = Array.from({ length: options + 1 }, (_, at) => word.slice(at));
  for (const [at, begin] of [-1, ...signs].entries())
    for (const end of [...signs.slice(at, at + 4), word.length])
      if (end - begin <= MAX_PATH) pieces.push(word.slice(begin + 1, end));
  const all = new Set(pieces.flatMap((piece) => [piece, piece.replaceAll(/['"\\]/g, '')]));
  const paths = [...all].filter((path) => path !== '' && path.length <= MAX_PATH);
  // Limit the names of a path, because the workspace may begin at any of them.
  return paths.every((path) => path.split('/').length <= 64) ? paths : undefined;
}
