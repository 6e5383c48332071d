import { matchWildcard } from '../../lib/wildcard.js';
import { baseName, readLine } from './command-line.js';
import { plainPath } from './path-pattern.js';
import { isStaging, type Understood } from './programs.js';

/** Words before a directory, which may be made before it is gone to, and those that hold it. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
/** Home, or where it was before. */
const GOES_HOME = /^(?:cd|pushd)(?: (?:-\S*)?)*$/;
const MAX_DIRECTORIES = 64;
/** Names in one path: each may be where the workspace begins. */
const MAX_STEPS = 64;
/** Characters of a path that a system opens. */
const MAX_PATH = 4_096;
/** Paths of one line that are looked at. A step of one that leads upwards counts for more: each may begin where it leads. */
const MAX_PATHS = 20_000;
const OUTWARD = 4;

/** Short options, the last of which may have its value right behind it: `-hfpatterns`. */
const OPTIONS = /^[-+]:?[A-Za-z\d]+/;
const MAX_OPTIONS = 256;
/** Signs between which a word may hold a name: `-F 'f=@name;type=x'`. */
const SIGN = /[=:,@;<>()!|&?#\s'"`$[\]{}]/g;
/** So many of the signs behind the beginning of a name may be part of it. */
const MAX_SIGNS = 4;

/** Stands for all directories outside of a workspace: what is read there may lead back into it. */
const OUTSIDE = '..';

const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;

/** The directory that paths of a line begin in, and what tells of a path whether it is one. */
export interface Surroundings {
  readonly directory: string;
  isDirectory(path: string): Promise<boolean>;
  /** The files below a directory, or the file that is there; `undefined` for more than can be looked at. */
  filesBelow(path: string): Promise<readonly string[] | undefined>;
}

/** What a line may open. */
export interface LinePaths {
  /** Paths as words name them. */
  readonly named: readonly string[];
  /** Files that a command finds. */
  readonly found: readonly string[];
  /** It can open no others. */
  readonly isClear: boolean;
}

/**
 * The paths that a line may name: each word and what is glued into it, in the directories that words before it name, and the files
 * below directories that a command walks. `undefined` when the line is not understood, or leads to too many places: it may name any.
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
      // One that is none yet may be made before it is gone to.
      if (isLed || (await isDirectory(place))) directories.add(place);
    }
    if (directories.size > MAX_DIRECTORIES) return undefined;
    leads = LEADS.test(word) || (leads && word.startsWith('-'));
  }
  // A loop, or a function, comes to words again that stand before a directory, and continues from there.
  const below = words.flatMap(({ pieces = [] }) =>
    pieces.filter((piece) => !isOut(piece) && !piece.includes(OUTSIDE)),
  );
  for (const begin of directories) {
    if (directories.size > MAX_DIRECTORIES || count * directories.size > MAX_PATHS) return undefined;
    // Below what is outside there may be any, and all of them are looked at anyway.
    for (const piece of isOut(begin) ? [] : new Set(below)) {
      const place = placeIn(begin, piece);
      if (place !== begin && !directories.has(place) && (await isDirectory(place))) directories.add(place);
    }
  }
  if (count * directories.size > MAX_PATHS) return undefined;
  const named = words.flatMap(({ pieces = [] }) => places(pieces));
  const walks = commands.flatMap((each) => each.uses.map((use) => ({ use, given: each.words.slice(1) })));
  const isStaged = commands.some((each) => isStaging(each.words));
  const found: string[] = [];
  for (const { use, given } of walks) {
    const isHere = use.walks === 'here' || (isStaged && use.showsStaged === true);
    if (!isHere && use.walks === undefined) continue;
    // What is outside may be above the workspace.
    const named = use.places ?? given;
    const begins = named.some(isOut) ? [''] : new Set(places(named));
    const below = [];
    for (const begin of begins) below.push(...((await filesBelow(begin)) ?? [undefined]));
    if (isHere && below.length === 0)
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

/** A word, and what a command may take for a path in it: behind options, between signs, without quotes of its own. */
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
