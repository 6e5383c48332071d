import { matchWildcard } from '../../lib/wildcard.js';
import { baseName, readLine } from './command-line.js';
import { plainPath } from './path-pattern.js';
import { showsAdded, type Understood } from './programs.js';

/** Match words that precede or contain a directory, which an earlier command may create. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
/** Matches changes to the home directory or to the previous directory. */
const GOES_HOME = /^(?:cd|pushd)(?: (?:-\S*)?)*$/;
const MAX_DIRECTORIES = 64;
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

const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;

/** The working directory of a line, and access to the directories and files of the workspace. */
export interface Surroundings {
  readonly directory: string;
  isDirectory(path: string): Promise<boolean>;
  /** Returns the files below a directory, or the file at this path. Returns `undefined` if there are too many. */
  filesBelow(path: string): Promise<readonly string[] | undefined>;
}

/** Files that a line may open. */
export interface LinePaths {
  /** Paths that words name. */
  readonly named: readonly string[];
  /** Files that a command finds by walking a directory. */
  readonly found: readonly string[];
  /** True if the line cannot open other files. */
  readonly isClear: boolean;
}

/**
 * Finds the paths that a line may open: each word and its parts, relative to every directory that earlier words name,
 * and the files below directories that a command walks. Returns `undefined` if the line leads to too many places; then
 * it may open any file.
 */
export async function pathsOf(line: string, surroundings: Surroundings): Promise<LinePaths | undefined> {
  const { directory, isDirectory, filesBelow } = surroundings;
  const { commands, targets, isClear } = readLine(line);
  const goesHome = commands.some(({ words }) => GOES_HOME.test(words.join(' ')));
  const words = [...commands.flatMap((each) => each.words), ...targets].map((word) => ({
    word,
    pieces: piecesOf(word),
  }));
  const isOut = (path: string) =>
    path.startsWith('/') ? !DEVICE.test(path) : plainPath(path).names[0] === OUTSIDE;
  const leadsOut = words.some(({ pieces = [] }) => pieces.some(isOut));
  const directories = new Set(leadsOut ? [directory, OUTSIDE] : [directory]);
  const places = (pieces: readonly string[]) =>
    pieces.flatMap((piece) => [...directories].map((begin) => placeIn(begin, piece)));
  let leads = false;
  let count = 0;
  for (const { word, pieces } of words) {
    if (pieces === undefined) return undefined;
    for (const piece of pieces) count += piece.includes('..') ? OUTWARD * piece.split('/').length : 1;
    if (count * directories.size > MAX_PATHS) return undefined;
    const isLed = leads || LEADS_GLUED.test(word);
    for (const place of new Set(places(pieces))) {
      // A directory that does not exist yet may be created before it is entered.
      if (isLed || (await isDirectory(place))) directories.add(place);
    }
    if (directories.size > MAX_DIRECTORIES) return undefined;
    leads = LEADS.test(word) || (leads && word.startsWith('-'));
  }
  // A loop or a function may repeat earlier words in a directory that a later word names.
  const below = words.flatMap(({ pieces = [] }) =>
    pieces.filter((piece) => !isOut(piece) && !piece.includes(OUTSIDE)),
  );
  for (const begin of directories) {
    if (directories.size > MAX_DIRECTORIES || count * directories.size > MAX_PATHS) return undefined;
    // Paths from outside the workspace are all checked anyway.
    for (const piece of isOut(begin) ? [] : new Set(below)) {
      const place = placeIn(begin, piece);
      if (place !== begin && !directories.has(place) && (await isDirectory(place))) directories.add(place);
    }
  }
  if (count * directories.size > MAX_PATHS) return undefined;
  const named = words.flatMap(({ pieces = [] }) => places(pieces));
  const walks = commands.flatMap((each) => each.uses.map((use) => ({ use, given: each.words.slice(1) })));
  if (showsAdded(commands.map((each) => each.words)))
    walks.push({ use: { walks: 'here', places: [] }, given: [] });
  const found: string[] = [];
  for (const { use, given } of walks) {
    if (use.walks === undefined) continue;
    // A directory outside may contain the workspace.
    const named = use.places ?? given;
    const begins = named.some(isOut) ? [''] : new Set(places(named));
    const below = [];
    for (const begin of begins) below.push(...((await filesBelow(begin)) ?? [undefined]));
    if (use.walks === 'here' && below.length === 0)
      for (const begin of directories) below.push(...((await filesBelow(begin)) ?? [undefined]));
    if (below.length > MAX_PATHS) return undefined;
    for (const path of below) {
      if (path === undefined) return undefined;
      if (opens(use, path)) found.push(path);
    }
  }
  return { named, found, isClear: isClear && !goesHome };
}

function opens({ name, skipsHidden }: Understood, path: string): boolean {
  return (
    (name === undefined || matchWildcard(name, baseName(path))) && !(skipsHidden && /(?:^|\/)\./.test(path))
  );
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
function piecesOf(word: string): readonly string[] | undefined {
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
