import { matchWildcard } from '../../lib/wildcard.js';
import { baseName, CommandLine, DEVICE } from './command-line.js';
import { plainPath } from './path-pattern.js';
import type { Effect } from './programs.js';

/** Matches words before a directory, which an earlier command may create. */
const LEADS = /^(?:cd|pushd|-C)$/;
/** Maximum number of names in one path. The workspace may begin at any of them. */
const MAX_STEPS = 64;
/** Maximum length in characters of a path that a system opens. */
const MAX_PATH = 4_096;
/**
 * Maximum number of paths that are checked for one line. Each step of a path with `..` counts `OUTWARD` times, because
 * the workspace may begin at any of them.
 */
const MAX_PATHS = 20_000;
const OUTWARD = 4;

/** Matches short options. The last one may have its value attached: `-hfpatterns`. */
const OPTIONS = /^[-+]:?[A-Za-z\d]+/;
const MAX_OPTIONS = 256;
/** Matches characters that may enclose a path within a word: `-F 'f=@name;type=x'`. */
const SIGN = /[=:,@;<>()!|&?#\s'"`$[\]{}]/g;
/** Maximum number of these characters that may be part of a path. */
const MAX_SIGNS = 4;

/** Represents all directories outside the workspace. A path from there may lead back into it. */
const OUTSIDE = '..';

/** The working directory of a line, and access to the directories and files of the workspace. */
export interface Surroundings {
  readonly directory: string;
  isDirectory(path: string): Promise<boolean>;
  /** Returns the files below a directory, or the file at this path. Returns `undefined` if there are too many. */
  filesBelow(path: string): Promise<readonly string[] | undefined>;
}

/**
 * Finds the paths that a line may open: each word and its parts, relative to every directory that earlier words name,
 * and the files below directories that a command walks (`found`). The line cannot open other files if it is literal
 * (`isClear`) and all its programs are known (`isKnown`), except to change them (`changesAny`). Returns `undefined` if
 * the line leads to too many places; then it may open any file.
 */
export async function pathsOf(line: string, surroundings: Surroundings) {
  const { directory, isDirectory, filesBelow } = surroundings;
  const { commands, targets, isClear, isKnown, changesAny } = new CommandLine(line);
  const words = [...commands.flatMap((each) => each.words), ...targets];
  const pieces = words.map(piecesOf);
  if (!pieces.every((each) => each !== undefined)) return undefined;
  const isOut = (path: string) =>
    path.startsWith('/') ? !DEVICE.test(path) : plainPath(path).names[0] === OUTSIDE;
  const directories = new Set([directory, ...(pieces.flat().some(isOut) ? [OUTSIDE] : [])]);
  const places = (paths: readonly string[]) =>
    paths.flatMap((path) => [...directories].map((begin) => placeIn(begin, path)));
  const steps = pieces.flat().map((piece) => (piece.includes('..') ? OUTWARD * piece.split('/').length : 1));
  const count = steps.reduce((sum, each) => sum + each, 0);
  for (const [at, each] of pieces.entries()) {
    if (count * directories.size > MAX_PATHS) return undefined;
    // A directory that does not exist yet may be created before it is entered.
    for (const place of new Set(places(each)))
      if (LEADS.test(words[at - 1] ?? '') || (await isDirectory(place))) directories.add(place);
  }
  if (count * directories.size > MAX_PATHS) return undefined;
  const named = places(pieces.flat());
  // Programs that walk from outside may come to any file.
  const hasLeft = words.some((word, at) => LEADS.test(words[at - 1] ?? '') && isOut(word));
  const found: string[] = [];
  for (const { effect } of commands) {
    if (effect.below === undefined) continue;
    if (hasLeft) return undefined;
    // A directory outside may contain the workspace.
    const begins = effect.below.some(isOut) ? [''] : new Set(places(effect.below));
    const below = (await Promise.all([...begins].map((begin) => filesIn(begin, effect)))).flat();
    if (effect.orHere && below.length === 0)
      below.push(...(await Promise.all([...directories].map((begin) => filesIn(begin, effect)))).flat());
    for (const path of below) if (path === undefined || found.push(path) > MAX_PATHS) return undefined;
  }
  return { named, found, isClear, isKnown, changesAny };

  async function filesIn(begin: string, { name = '*' }: Effect) {
    const all = (await filesBelow(begin)) ?? [undefined];
    return all.filter((path) => path === undefined || matchWildcard(name, baseName(path)));
  }
}

function placeIn(directory: string, path: string): string {
  const place = directory === '' || path.startsWith('/') ? path : `${directory}/${path}`;
  const steps = place.split('/').filter((step) => step !== '' && step !== '.');
  return `${place.startsWith('/') ? '/' : ''}${steps.join('/')}`;
}

/**
 * Returns a word and the parts of it that a command may use as a path: after options, between special characters,
 * without quotes. Returns `undefined` if there are too many.
 */
export function piecesOf(word: string): readonly string[] | undefined {
  const options = OPTIONS.exec(word)?.[0].length ?? 0;
  if (options > MAX_OPTIONS) return undefined;
  const pieces = new Set([word]);
  for (let at = 1; at <= options; at++) pieces.add(word.slice(at));
  const signs = [...word.matchAll(SIGN)].map(({ index }) => index);
  if (signs.length * MAX_SIGNS > MAX_PATHS) return undefined;
  for (const [at, begin] of [-1, ...signs].entries()) {
    const ends = [...signs.slice(at, at + MAX_SIGNS), word.length];
    for (const end of ends) if (end - begin <= MAX_PATH) pieces.add(word.slice(begin + 1, end));
  }
  for (const piece of [...pieces]) pieces.add(piece.replaceAll(/['"\\]/g, ''));
  const paths = [...pieces].filter((piece) => piece !== '' && piece.length <= MAX_PATH);
  return paths.every((path) => path.split('/').length <= MAX_STEPS) ? paths : undefined;
}
