import { isOpaque, onlySays, readsLines, runsProgram } from './shell-words.js';

/** What stands between names in a program. */
const BETWEEN = /[\s'"`()<>{}[\];|&$!*?#\\]+/;
const MAX_DEPTH = 3;

/** Words before a directory in which what comes after them is read, and those that hold it. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
/** Home, or where it was before. */
const GOES_HOME = /(?:^| )(?:cd|pushd)(?: (?:-\S*)?)*$/;
const MAX_DIRECTORIES = 64;
/** Names in one path: each may be where the workspace begins. */
const MAX_STEPS = 64;
/** Characters of a path that a system opens. */
const MAX_PATH = 4_096;
/** Paths of one line that are looked at. */
const MAX_PATHS = 20_000;

/** Short options, the last of which may have its value right behind it: `-hfpatterns`. */
const OPTIONS = /^[-+]:?[A-Za-z\d]+/;
const MAX_OPTIONS = 256;
/** Signs between which a word may hold a name: `-F 'f=@name;type=x'`. */
const SIGN = /[=:,@;<>()!|&?#\s]/g;
/** So many of the signs behind the beginning of a name may be part of it. */
const MAX_SIGNS = 4;

/** The directory that paths of a line begin in, and what tells of a path whether it is one. */
export interface Surroundings {
  readonly directory: string;
  isDirectory(path: string): Promise<boolean>;
}

/**
 * The paths that a line may name: each word and what is glued into it, in the directories that words before it name. Where a shell
 * is named, words are lines as well, and where an interpreter is, programs. `undefined` when it may name anything: a shell makes
 * names of what it says, or it leads to too many places.
 */
export async function pathsOf(
  line: string,
  { directory, isDirectory }: Surroundings,
): Promise<readonly string[] | undefined> {
  const commands = commandsIn(line, 0);
  if (commands === undefined || commands.some((words) => GOES_HOME.test(words.join(' ')))) return undefined;
  const isProgram = commands.some((words) => readsLines(words) || runsProgram(words));
  const directories = new Set([directory]);
  const found: string[] = [];
  let leads = false;
  for (const word of commands.flat()) {
    const pieces = piecesOf(word, isProgram);
    if (pieces === undefined || found.length + pieces.length * directories.size > MAX_PATHS) return undefined;
    const places = pieces.flatMap((piece) => [...directories].map((begin) => placeIn(begin, piece)));
    found.push(...places);
    const isLed = leads || LEADS_GLUED.test(word);
    for (const place of new Set(places)) {
      // One that is none yet may be made before it is gone to.
      if (isLed || (await isDirectory(place))) directories.add(place);
    }
    if (directories.size > MAX_DIRECTORIES) return undefined;
    leads = LEADS.test(word) || (leads && word.startsWith('-'));
  }
  return found;
}

function placeIn(directory: string, path: string): string {
  return directory === '' || path.startsWith('/') ? path : `${directory}/${path}`;
}

/** A word, and what a command may take for a path in it: behind options, between signs, without quotes of its own. */
function piecesOf(word: string, isProgram: boolean): readonly string[] | undefined {
  const options = OPTIONS.exec(word)?.[0].length ?? 0;
  if (options > MAX_OPTIONS) return undefined;
  const pieces = new Set([word, ...(isProgram ? word.split(BETWEEN) : [])]);
  for (let at = 1; at <= options; at++) pieces.add(word.slice(at));
  const signs = [...word.matchAll(SIGN)].map(({ index }) => index);
  if (signs.length * MAX_SIGNS > MAX_PATHS) return undefined;
  for (const [at, begin] of [-1, ...signs].entries()) {
    const ends = [...signs.slice(at, at + MAX_SIGNS), word.length];
    for (const end of ends) if (end - begin <= MAX_PATH) pieces.add(word.slice(begin + 1, end));
  }
  // Who reads a list of names (`xargs`) takes quotes and escapes away once more.
  for (const piece of [...pieces]) pieces.add(piece.replaceAll(/['"\\]/g, ''));
  const paths = [...pieces].filter((piece) => piece !== '' && piece.length <= MAX_PATH);
  return paths.every((path) => path.split('/').length <= MAX_STEPS) ? paths : undefined;
}

/** The words of a line by command, and those of the lines that shells in it are given; `undefined` when one is not understood. */
function commandsIn(line: string, depth: number): readonly (readonly string[])[] | undefined {
  const read = depth > MAX_DEPTH || /\bCDPATH\b/.test(line) ? undefined : readLine(line);
  if (read === undefined) return undefined;
  const { commands, bodies } = read;
  // What is only said is still taken by a shell, or by what stands behind a pipe.
  const isTaken = read.hasValues && (/(?<!\|)\|(?!\|)/.test(line) || commands.some(readsLines));
  if (isTaken || commands.some(isOpaque)) return undefined;
  const said = bodies.map((body) => [...body.split('\n'), ...body.split(/\s+/)]);
  if (!commands.some(readsLines)) return [...commands, ...said];
  // `eval` joins what it is given.
  const joined = commands.filter((words) => words.includes('eval')).map((words) => words.join(' '));
  const lines = [...commands.flat(), ...joined, ...bodies].filter(
    (text) => text !== line && /[^\w./:@%+,=-]/.test(text),
  );
  const inner = lines.map((text) => commandsIn(text, depth + 1));
  return inner.includes(undefined)
    ? undefined
    : [...commands, ...said, ...inner.flatMap((each) => each ?? [])];
}

/**
 * The parts of a line as every shell reads them: a word is what stands between blanks and operators, of plain characters, escapes
 * and quotes. What a shell puts something else in the place of is a value where that is no command (`$x`, `*`, `?`, `[a]`), and else no part
 * (`~`, `$(…)`, a backquote).
 */
const PART = new RegExp(
  [
    /(?<joined>(?<=[ \t])\\\n(?=[ \t\w./'"-]))/,
    /(?<comment>(?<![^\s;&|()<>])#[^\n]*)/,
    /(?<here><<(?<indented>-?)(?!<)[ \t]*(?:'(?<single>[\w.-]+)'|"(?<double>[\w.-]+)"|(?<slash>\\?)(?<bare>[\w.-]+))(?=[\s;&|<>)]|$))/,
    /(?<break><<<(?!<)|<(?!<)|\((?!\()|[\n;&|>)])/,
    /(?<blank>[ \t]+)/,
    /'(?<quoted>[^']*)'/,
    /"(?<text>[^"$`\\]*(?:(?:\\[\s\S]|\$(?:\{\w+\}|(?!\\\n|[({[])[\w@*#?$!-]?))[^"$`\\]*)*)"/,
    /\\(?<escaped>[^\n])/,
    /(?<plain>\$(?=[\s;&|)]|$)|(?<![^\s;&|(!])\[\[?(?=\s)|(?<=[^\s;&|()<>=:'"\\])~|[@+!](?!\()|[{},.#]|[^\s\\'"`$*?[~#;&|()<>@+!{},.]+)/,
    /(?<value>\$(?:\{\w+\}|[\w@*#?$!-])|[*?[])/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'uy',
);

const VALUE = /\$[\w{@*#?$!-]/;
const NUMBER = /(?:^|[\s;&|()<>])(?:\d+|\{\w+\})$/;

interface ShellLine {
  /** The words of each command, without their quotes. */
  readonly commands: readonly (readonly string[])[];
  /** The here-documents of all. */
  readonly bodies: readonly string[];
  /** Whether a command has a value for a word. */
  readonly hasValues: boolean;
}

/** Takes a line apart; `undefined` when it is not understood. */
function readLine(line: string): ShellLine | undefined {
  const commands: string[][] = [[]];
  const valued = new Set<readonly string[] | undefined>();
  const bodies: string[] = [];
  const waiting: { readonly ends: RegExp; readonly isPlain: boolean }[] = [];
  let word: string | undefined;
  /** Braces that are open within a word: `{a,b}` becomes two, `{}` and `@{u}` stay. */
  let braces = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < line.length) {
    const { index = 0, groups: part } = PART.exec(line) ?? {};
    if (part === undefined) return undefined;
    const { here, indented, single, double, bare, slash, text, quoted, escaped, plain, value } = part;
    if (part.joined !== undefined) continue;
    if (part.comment !== undefined) {
      // Behind a blank that is part of the word.
      if (word !== undefined) return undefined;
      continue;
    }
    if (part.blank === undefined && part.break === undefined && here === undefined) {
      if (plain === '{') braces++;
      else if (plain === '}') braces = Math.max(0, braces - 1);
      else if (braces > 0 && (plain === ',' || (plain === '.' && word?.endsWith('.')))) return undefined;
      if (value !== undefined || VALUE.test(text?.replaceAll(/\\[\s\S]/g, ' ') ?? ''))
        valued.add(commands.at(-1));
      const inText = text?.replaceAll(/\\\n|\\([$`"\\])/g, '$1');
      word = (word ?? '') + (quoted ?? inText ?? escaped ?? plain ?? value ?? '');
      continue;
    }
    // The number of what is redirected is no word.
    const isNumber =
      (here ?? part.break ?? '').match(/^[<>]/) && NUMBER.test(line.slice(Math.max(0, index - 20), index));
    if (word !== undefined && !isNumber) commands.at(-1)?.push(word);
    [word, braces] = [undefined, 0];
    if (here !== undefined) {
      const delimiter = (single ?? double ?? bare ?? '').replaceAll('.', '\\.');
      const ends = new RegExp(`^${indented && '\t*'}${delimiter}$`, 'm');
      waiting.push({ ends, isPlain: bare === undefined || slash !== '' });
    } else if (part.break !== undefined) commands.push([]);
    if (part.break !== '\n') continue;
    for (const { ends, isPlain } of waiting.splice(0)) {
      const rest = line.slice(PART.lastIndex);
      const end = ends.exec(rest);
      const body = rest.slice(0, end?.index);
      // In one that ends with a plain word, a shell puts values into the text.
      if (!isPlain && /[$`\\]/.test(body)) return undefined;
      bodies.push(body);
      PART.lastIndex += body.length + (end?.[0].length ?? 0);
    }
  }
  if (word !== undefined) commands.at(-1)?.push(word);
  const isSaid = [...valued].every((words) => words !== undefined && onlySays(words));
  const found = commands.filter((words) => words.length > 0);
  return isSaid ? { commands: found, bodies, hasValues: valued.size > 0 } : undefined;
}
