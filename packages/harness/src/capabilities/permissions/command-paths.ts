/** Commands that read an argument, or what comes in, as lines of a shell. */
const SHELL =
  /^(?:(?:r?ba|da|a|z|[mp]?dk|m?k|tc|c|ya|fi|hu)?sh|busybox|toybox|eval|trap|alias|su|watch|parallel|flock|script)[\d.-]*$/i;
/** Those that are other things as well, unless a command begins with them. */
const SOURCE = /^(?:\.|source)$/;
const KEYWORD = /^(?:if|then|elif|else|while|until|do|!|\{|command|builtin|time|[A-Za-z_]\w*=.*)$/s;
/** `env -S` takes a line apart as well. */
const SPLIT = /^-(?:[A-Za-z]*S|-s)/;
/** Commands whose arguments may be programs that name files. */
const INTERPRETER =
  /^(?:python|pypy|node|deno|bun|tsx|perl|ruby|php|lua|tclsh|[gmn]?awk|g?sed|ed|ex|n?vim?|emacs|make|jq|sqlite)[\d.]*$/i;
/** What stands between names in a program. */
const BETWEEN = /[\s'"`()<>{}[\];|&$!*?#\\]+/;
const MAX_DEPTH = 3;

/** Words before a directory in which what comes after them is read, and those that hold it. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
/** Home, or where it was before. */
const GOES_HOME = /(?:^| )(?:cd|pushd)(?: -\S*)*$/;
const MAX_DIRECTORIES = 64;
/** Names in one path: each may be where the workspace begins. */
const MAX_STEPS = 64;
/** Characters of a path that a system opens. */
const MAX_PATH = 4_096;
/** Paths of one line that are looked at. */
const MAX_PATHS = 20_000;

/** Short options, the last of which may have its value right behind it: `-hfpatterns`. */
const OPTIONS = /^-[A-Za-z\d]+/;
const MAX_OPTIONS = 256;

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
  const isProgram = commands.some(
    (words) => readsLines(words) || words.some((word) => INTERPRETER.test(baseName(word))),
  );
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

/** A word, and what a command may take for a path in it: behind options, and between signs. */
function piecesOf(word: string, isProgram: boolean): readonly string[] | undefined {
  const options = OPTIONS.exec(word)?.[0].length ?? 0;
  if (options > MAX_OPTIONS) return undefined;
  const pieces = [word, ...word.split(/[=:,@]/), ...(isProgram ? word.split(BETWEEN) : [])];
  for (let at = 1; at <= options; at++) pieces.push(word.slice(at));
  for (const { index } of word.slice(0, MAX_PATH).matchAll(/[=:,@]/g)) pieces.push(word.slice(index + 1));
  const paths = [...new Set(pieces)].filter((piece) => piece !== '' && piece.length <= MAX_PATH);
  return paths.every((path) => path.split('/').length <= MAX_STEPS) ? paths : undefined;
}

function readsLines(words: readonly string[]): boolean {
  const first = words.find((word) => !KEYWORD.test(word)) ?? '';
  const names = words.map(baseName);
  const splits = names.includes('env') && words.some((word) => SPLIT.test(word));
  return splits || SOURCE.test(first) || names.some((name) => SHELL.test(name));
}

/** The words of a line by command, and those of the lines that shells in it are given; `undefined` when one is not understood. */
function commandsIn(line: string, depth: number): readonly (readonly string[])[] | undefined {
  const read = depth > MAX_DEPTH || /\bCDPATH\b/.test(line) ? undefined : readLine(line);
  if (read === undefined) return undefined;
  const { commands, bodies } = read;
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
 * and quotes. What a shell puts something else in the place of (`*`, `?`, `[`, `~`, `$`, a backquote) is no part, but for the status
 * of the last command where nothing is glued to it.
 */
const PART = new RegExp(
  [
    /(?<joined>(?<=[ \t])\\\n(?=[ \t\w./'"-]))/,
    /(?<comment>(?<![^\s;&|()<>])#[^\n]*)/,
    /(?<here><<(?<indented>-?)(?!<)[ \t]*(?:'(?<single>[\w.-]+)'|"(?<double>[\w.-]+)"|(?<slash>\\?)(?<bare>[\w.-]+))(?=[\s;&|<>)]|$))/,
    /(?<break><<<(?!<)|<(?!<)|\((?!\()|[\n;&|>)])/,
    /(?<blank>[ \t]+)/,
    /'(?<quoted>[^']*)'/,
    /"(?<text>[^"$`\\]*(?:(?:\\[\s\S]|\$(?![\w({[@*#?$!\\-])|(?<=[\s:=]|(?<![^\s;&|(])")\$\?(?=[\s"]))[^"$`\\]*)*)"/,
    /\\(?<escaped>[^\n])/,
    /(?<status>(?<![^\s;&|(=])\$\?(?=[\s;&|)]|$))/,
    /(?<plain>\$(?=[\s;&|)]|$)|(?<![^\s;&|(!])\[\[?(?=\s)|(?<=[^\s;&|()<>=:'"\\])~|[@+!](?!\()|[{},.#]|[^\s\\'"`$*?[~#;&|()<>@+!{},.]+)/,
  ]
    .map(({ source }) => source)
    .join('|'),
  'uy',
);

/** The commands of a line, each with its words without their quotes, and the here-documents of all; `undefined` when it is not understood. */
function readLine(line: string): { readonly commands: string[][]; readonly bodies: string[] } | undefined {
  const commands: string[][] = [[]];
  const bodies: string[] = [];
  const waiting: { readonly ends: RegExp; readonly isPlain: boolean }[] = [];
  let word: string | undefined;
  /** Braces that are open within a word: `{a,b}` becomes two, `{}` and `@{u}` stay. */
  let braces = 0;
  PART.lastIndex = 0;
  while (PART.lastIndex < line.length) {
    const part = PART.exec(line)?.groups;
    if (part === undefined) return undefined;
    const { here, indented, single, double, bare, slash, text, quoted, escaped, status, plain } = part;
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
      const inText = text?.replaceAll('$?', '0').replaceAll(/\\\n|\\([$`"\\])/g, '$1');
      word = (word ?? '') + (quoted ?? inText ?? escaped ?? (status && '0') ?? plain ?? '');
      continue;
    }
    if (word !== undefined) commands.at(-1)?.push(word);
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
  return { commands: commands.filter((words) => words.length > 0), bodies };
}

function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}
