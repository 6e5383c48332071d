import { plainPath } from './path-pattern.js';
import { isOpaque, keepsText, nameOf, programIn, readsLines } from './shell-words.js';

/** What stands between names in a program. */
const BETWEEN = /[\s'"`()<>{}[\];|&$!*?#\\^]+/;
const BETWEEN_LITERALS = /['"`()<>{}[\];|&$!*?#\\^,=+\n]+/;
const MAX_DEPTH = 3;

/** Words before a directory, which may be made before it is gone to, and those that hold it. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
/** Home, or where it was before. */
const GOES_HOME = /(?:^| )(?:cd|pushd)(?: (?:-\S*)?)*$/;
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
/** What stands for a blank where a command reads its words once more. */
const ESCAPED = /\\(?:[abefnrtv]|x[\da-fA-F]{1,2}|0?[0-7]{1,3})/;
/** Signs between which a word may hold a name: `-F 'f=@name;type=x'`. */
const SIGN = /[=:,@;<>()!|&?#\s]/g;
/** In an editor's program what parts a pattern from a command and that from flags, too: `s/x/cat name/e`. */
const EDITOR_SIGN = /[=:,@;<>()!|&?#\s/~%+^]/g;
/** So many of the signs behind the beginning of a name may be part of it. */
const MAX_SIGNS = 4;

/** Stands for all directories outside of a workspace: what is read there may lead back into it. */
const OUTSIDE = '..';

const DEVICE = /^\/dev\/(?:null|zero|u?random|tty|std(?:in|out|err))$/;

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
  const programs = commands.map(programIn);
  const program = programs.includes('letters') ? 'letters' : programs.find((each) => each !== undefined);
  const words = commands.flat().map((word) => ({ word, pieces: piecesOf(word, program) }));
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
  // A loop, or a function, comes to words once more that stand before a directory, and goes on from there.
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
  return words.flatMap(({ pieces = [] }) => places(pieces));
}

function placeIn(directory: string, path: string): string {
  const place = directory === '' || path.startsWith('/') ? path : `${directory}/${path}`;
  const steps = place.split('/').filter((step) => step !== '' && step !== '.');
  return `${place.startsWith('/') ? '/' : ''}${steps.join('/')}`;
}

/** A word, and what a command may take for a path in it: behind options, between signs, without quotes of its own. */
function piecesOf(word: string, program: ReturnType<typeof programIn>): readonly string[] | undefined {
  const options = OPTIONS.exec(word)?.[0].length ?? 0;
  // In an editor's program any letter may be a command with a name behind it.
  const letters = program === 'letters' ? word.length : options;
  if (letters > MAX_OPTIONS) return undefined;
  const pieces = new Set([word]);
  for (let at = 1; at <= letters; at++) pieces.add(word.slice(at)).add(word.slice(at).split('\n')[0] ?? '');
  if (program)
    for (const each of [BETWEEN, BETWEEN_LITERALS]) for (const piece of word.split(each)) pieces.add(piece);
  // `printf 'a\nb'` makes two of one.
  if (word.includes('\\')) for (const piece of word.split(ESCAPED)) pieces.add(piece);
  const signs = [...word.matchAll(program === 'letters' ? EDITOR_SIGN : SIGN)].map(({ index }) => index);
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
  const { targets, bodies } = read;
  const commands = [...read.commands, ...targets];
  if (commands.some(isOpaque)) return undefined;
  const said = read.commands.every(keepsText)
    ? []
    : bodies.map((body) => [...body.split('\n'), ...body.split(/\s+/)]);
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
 * and quotes. What a shell puts something else in the place of (`*`, `?`, `[`, `~`, `$`, a backquote) is no part, but for a number of its
 * own (`$?`) where nothing is glued to it, and for a here-document that stands for itself.
 */
const PART = new RegExp(
  [
    /(?<joined>(?<=[ \t])\\\n(?=[ \t\w./'"-]))/,
    /(?<comment>(?<![^\s;&|()<>])#[^\n]*)/,
    /(?<here><<(?<indented>-?)(?!<)[ \t]*(?:'(?<single>[\w.-]+)'|"(?<double>[\w.-]+)"|(?<slash>\\?)(?<bare>[\w.-]+))(?=[\s;&|<>)]|$))/,
    /(?<redirect><<<(?!<)|&>>?|<>|>[>|&]?|<(?![<])&?)/,
    /(?<break>\((?!\()|[\n;&|)])/,
    /(?<blank>[ \t]+)/,
    /'(?<quoted>[^']*)'/,
    /"\$\([ \t]*cat[ \t]*<<[ \t]*'(?<ends>\w+)'\n(?<body>(?:(?!\k<ends>(?:\n|$))[^\n]*\n)*)\k<ends>\n[ \t]*\)"/,
    /"(?<text>[^"$`\\]*(?:(?:\\[\s\S]|\$(?!\\\n|[\w({[@*#?$!-])|(?<=[\s:=]|(?<![^\s;&|(])")\$[?#$](?=[\s"]))[^"$`\\]*)*)"/,
    /\\(?<escaped>[^\n])/,
    /(?<number>(?<![^\s;&|(=])\$[?!#$](?=[\s;&|)]|$))/,
    /(?<plain>\$(?=[\s;&|)]|$)|(?<![^\s;&|(!])\[\[?(?=\s)|(?<=[^\s;&|()<>=:'"\\])~|[@+!](?!\()|[{},.#]|[^\s\\'"`$*?[~#;&|()<>@+!{},.]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'uy',
);

/** Commands for which a number is none of a file; none where it is only put down: `code=$?`. */
const TAKES_NUMBER = /^(?:echo|printf|test|\[\[?|exit|return|kill|wait|git|)$/;

interface ShellLine {
  /** The words of each command, without their quotes. */
  readonly commands: readonly (readonly string[])[];
  /** What is redirected to and from. */
  readonly targets: readonly (readonly string[])[];
  /** The here-documents of all. */
  readonly bodies: readonly string[];
}

/** Takes a line apart; `undefined` when it is not understood. */
function readLine(line: string): ShellLine | undefined {
  // Long because it is one pass over a line, and every kind of part reads and changes the state of the pass.
  const commands: string[][] = [[]];
  const targets: string[][] = [];
  const bodies: string[] = [];
  const waiting: { readonly ends: RegExp; readonly isPlain: boolean }[] = [];
  let word: string | undefined;
  let isTarget = false;
  /** Whether the word is of plain characters alone. */
  let isBare = true;
  /** Of the word, whether a brace was opened, and a sign that parts what is in braces came behind: `{a,b}` becomes two, `{}` stays. */
  let [isOpen, isParted] = [false, false];
  /** Commands with a number that a shell knows: which one is unknown, and may be a file's name. */
  const numbered = new Set<readonly string[]>();
  const end = () => {
    if (word !== undefined && isTarget) targets.push([word]);
    else if (isBare && (word === '{' || word === '}')) commands.push([]);
    else if (word !== undefined) commands.at(-1)?.push(word);
    if (word !== undefined) isTarget = false;
    [word, isBare, isOpen, isParted] = [undefined, true, false, false];
  };
  PART.lastIndex = 0;
  while (PART.lastIndex < line.length) {
    const part = PART.exec(line)?.groups;
    if (part === undefined) return undefined;
    const { here, redirect, text, plain, number } = part;
    const literal =
      part.quoted ?? part.escaped ?? (part.body === undefined ? undefined : part.body.replace(/\n+$/, ''));
    if (part.joined !== undefined) continue;
    if (part.comment !== undefined) {
      // Behind a blank that is part of the word.
      if (word !== undefined) return undefined;
      continue;
    }
    if ((literal ?? text ?? plain ?? number) !== undefined) {
      if (plain === '{') isOpen = true;
      else if (isOpen && (plain === ',' || (plain === '.' && word?.endsWith('.')))) isParted = true;
      else if (plain === '}' && isParted) return undefined;
      if (plain === undefined) isBare = false;
      if (number !== undefined || (text !== undefined && /(?<!\\)\$[?#]/.test(text))) {
        if (isTarget) return undefined;
        numbered.add(commands.at(-1) as string[]);
      }
      const inText = text?.replaceAll(/\$[?#$]/g, '0').replaceAll(/\\\n|\\([$`"\\])/g, '$1');
      word = (word ?? '') + (literal ?? inText ?? (number && '0') ?? plain ?? '');
      continue;
    }
    // The number of what is redirected is no word; of two digits, or in braces, it is in some shells.
    if ((redirect ?? here) !== undefined && isBare && /^(?:\d+|\{\w+\})$/.test(word ?? '')) {
      if (word !== undefined && word.length > 1) targets.push([word]);
      word = undefined;
    }
    end();
    // What a command in parentheses says is a file.
    if (redirect !== undefined && /^[<>]$/.test(redirect) && line[PART.lastIndex] === '(')
      commands.at(-1)?.push('/dev/fd/63');
    else if (redirect !== undefined) isTarget = true;
    if (here !== undefined) {
      const delimiter = (part.single ?? part.double ?? part.bare ?? '').replaceAll('.', '\\.');
      const ends = new RegExp(`(?<![^\\n])${part.indented && '\t*'}${delimiter}(?![^\\n])`);
      waiting.push({ ends, isPlain: part.bare === undefined || part.slash !== '' });
    }
    if (part.break === undefined) continue;
    commands.push([]);
    isTarget = false;
    if (part.break !== '\n') continue;
    for (const { ends, isPlain } of waiting.splice(0)) {
      const rest = line.slice(PART.lastIndex);
      const last = ends.exec(rest);
      const body = rest.slice(0, last?.index);
      // In one that ends with a plain word, a shell puts values into the text.
      if (!isPlain && /[$`\\]/.test(body)) return undefined;
      bodies.push(body);
      PART.lastIndex += body.length + (last?.[0].length ?? 0);
    }
  }
  end();
  for (const words of numbered) if (!TAKES_NUMBER.test(nameOf(words))) return undefined;
  return { commands: commands.filter((words) => words.length > 0), targets, bodies };
}
