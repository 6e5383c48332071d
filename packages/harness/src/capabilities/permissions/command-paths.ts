import { matchWildcard } from '../../lib/wildcard.js';
import { baseName, CommandLine, DEVICE } from './command-line.js';

/** Maximum number of names in one path. The workspace may begin at any of them. */
const MAX_STEPS = 64;
/** Maximum length in characters of a path that a system opens. */
const MAX_PATH = 4_096;
/**
 * Maximum number of paths that are checked for one line. Each step of a path with `..` counts `OUTWARD` times, because
 * the workspace may begin at any of them.
 */
const MAX_PATHS = 2_000;
const OUTWARD = 4;
/** Maximum number of files below walked directories, and of parts of one word. */
const MAX_FOUND = 20_000;

/** Matches short options. The last one may have its value attached: `-hfpatterns`. */
const OPTIONS = /^[-+]:?[A-Za-z\d]+/;
const MAX_OPTIONS = 256;
/** Matches characters that may enclose a path within a word: `-F 'f=@name;type=x'`. */
const SIGN = /[=:,@;<>()!|&?#\s'"`$[\]{}]/g;
/** Maximum number of these characters that may be part of a path. */
const MAX_SIGNS = 4;

/** The working directory of a line, and access to the files of the workspace. */
export interface Surroundings {
  readonly directory: string;
  /** Returns the files below a directory, or the file at this path. Returns `undefined` if there are too many. */
  filesBelow(path: string): Promise<readonly string[] | undefined>;
}

/**
 * Finds the paths that a line may open: each word and its parts, relative to every directory that it may enter, and the
 * files below directories that a command walks (`found`). The line cannot open other files if it is literal (`isClear`)
 * and all its programs are known (`isKnown`), except to change them (`changesAny`). Returns `undefined` if the line
 * leads to too many places; then it may open any file.
 */
export async function pathsOf(line: string, { directory, filesBelow }: Surroundings) {
  const { commands, targets, isClear, isKnown, changesAny } = new CommandLine(line);
  const pieces = [...commands.flatMap(({ words }) => words), ...targets].map(piecesOf);
  if (!pieces.every((each) => each !== undefined)) return undefined;
  const copies = commands.flatMap(({ effect: { into, below = [] } }) =>
    into === undefined ? [] : below.map((each) => `${into}/${baseName(each)}`),
  );
  const parts = [...new Set([...pieces.flat(), ...copies])];
  const steps = parts.map((piece) => (piece.includes('..') ? OUTWARD * piece.split('/').length : 1));
  const count = steps.reduce((sum, each) => sum + each, 0);
  const directories = new Set([directory]);
  const places = (paths: readonly string[]) =>
    paths.flatMap((path) => [...directories].map((begin) => placeIn(begin, path)));
  const entered = commands.flatMap(({ words: [name, to = ''] }) => (name === 'cd' ? [to] : []));
  for (const each of ['', ...entered]) {
    for (const place of places([each])) directories.add(place);
    if (count * directories.size > MAX_PATHS) return undefined;
  }
  const found: string[] = [];
  for (const { effect } of commands) {
    const scripts = await Promise.all(places(effect.script ? [effect.script] : []).map(filesBelow));
    if (scripts.some((files) => !files?.length)) return undefined;
    if (effect.below === undefined) continue;
    // A walk from outside, or to there, may come to any file.
    if ([...entered, ...effect.below].some(isOut)) return undefined;
    for (const begin of new Set(places(effect.below)))
      for (const path of (await filesBelow(begin)) ?? [undefined]) {
        if (path === undefined || found.length > MAX_FOUND) return undefined;
        if (matchWildcard(effect.name ?? '*', baseName(path))) found.push(path);
      }
  }
  return { named: places(parts), found, isClear, isKnown, changesAny };
}

/** Tests if a path may lead out of the directory that it names first. A link there may lead anywhere before `..`. */
function isOut(path: string): boolean {
  return path.startsWith('/') ? !DEVICE.test(path) : path.split('/').includes('..');
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
  if (signs.length * MAX_SIGNS > MAX_FOUND) return undefined;
  for (const [at, begin] of [-1, ...signs].entries()) {
    const ends = [...signs.slice(at, at + MAX_SIGNS), word.length];
    for (const end of ends) if (end - begin <= MAX_PATH) pieces.add(word.slice(begin + 1, end));
  }
  for (const piece of [...pieces]) pieces.add(piece.replaceAll(/['"\\]/g, ''));
  const paths = [...pieces].filter((piece) => piece !== '' && piece.length <= MAX_PATH);
  return paths.every((path) => path.split('/').length <= MAX_STEPS) ? paths : undefined;
}
