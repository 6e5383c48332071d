import { literalOf, matchWildcard } from '../../lib/wildcard.js';

/**
 * The tokens of a line that every POSIX shell reads alike: blanks, words of characters without a meaning or in quotes in
 * which nothing is replaced, `&&`, `||`, `;`, `|`, and redirections that write no file. Whatever else a line holds
 * (substitutions, patterns, escapes, groups, line breaks, comments) makes it one that is not understood.
 */
const TOKEN =
  /[ \t]+|(?<operator>&&|\|\||[;|])|(?:[12]?>[ \t]*\/dev\/null|[12]?>&[12])(?=[ \t;|&]|$)|(?<word>(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+)(?=[ \t;|&]|$)/uy;

/** Commands that read an argument as a line of a shell: quotes in the line that names them hide nothing from it. */
const SHELLS = new Set(
  'sh ash bash rbash dash zsh ksh mksh fish busybox eval trap env su watch parallel flock script'.split(' '),
);
/** Commands that run another one, which is named by their arguments; and words that stand before a command. */
const WRAPPERS = new Set([
  ...SHELLS,
  ...(
    'sudo doas command builtin exec coproc nohup nice ionice time timeout setsid stdbuf xargs chroot find if then elif else while ' +
    'until do ! {'
  ).split(' '),
]);
const MAX_DEPTH = 3;

/**
 * What a shell leaves as it stands, or in which it takes away quotes alone. Where a line holds anything else (`*`, `?`, `[`, `{`,
 * `~`, `$`, a backquote), what it makes of a word is not known before it runs.
 */
const LITERAL =
  /[^\\'"*?[{$`~+@!]+|\\.|'[^']*'|"[^"\\$`]*(?:\\.[^"\\$`]*)*"|[+@!](?!\()|(?:\[\[?|\{)(?=\s)|(?<=[\w.])~/gsy;
/** Where quotes may be text: in a comment, and in what follows `<<`. */
const TEXT = /(?:^|[\s;&|()`])#|<</;

/** Words before a directory in which what comes after them is read, and those that hold it. */
const LEADS = /^(?:cd|pushd|-C|--(?:directory|chdir|work-tree|cwd|prefix))$/;
const LEADS_GLUED = /^(?:-C|--(?:directory|chdir|work-tree|cwd|prefix)=)./;
const MAX_DIRECTORIES = 64;
/** Names in one path: each may be where the workspace begins. */
const MAX_STEPS = 64;

/** Short options, the last of which may have its value right behind it: `-hfpatterns`. */
const OPTIONS = /^-[A-Za-z]+/;
const MAX_OPTIONS = 8;

/** One command of a line: its words as written, and without their quotes. */
interface Command {
  readonly raw: readonly string[];
  readonly words: readonly string[];
}

/** The commands of a line; `undefined` when it is not understood completely. */
function commandsOf(line: string): readonly Command[] | undefined {
  const commands: { raw: string[]; words: string[] }[] = [{ raw: [], words: [] }];
  TOKEN.lastIndex = 0;
  while (TOKEN.lastIndex < line.length) {
    const { operator, word } = TOKEN.exec(line)?.groups ?? {};
    if (TOKEN.lastIndex === 0) return undefined;
    if (operator !== undefined) commands.push({ raw: [], words: [] });
    else if (word !== undefined) {
      commands.at(-1)?.raw.push(word);
      commands.at(-1)?.words.push(word.replaceAll(/'([^']*)'|"([^"]*)"/g, '$1$2'));
    }
  }
  const found = commands.filter(({ words }) => words.length > 0);
  // An assignment changes what the command after it does.
  return found.some(({ words }) => words[0]?.includes('=')) ? undefined : found;
}

/**
 * Tells whether every command of a line fits one of the patterns. A line that is not understood completely fits only a
 * pattern without wildcards that is the very same text.
 */
export function allowsCommand(patterns: readonly string[], line: string): boolean {
  const plain = line.replaceAll(/^[ \t\n]+|[ \t\n]+$/g, '');
  if (patterns.some((pattern) => literalOf(pattern) === plain)) return true;
  const commands = commandsOf(plain) ?? [];
  return (
    commands.length > 0 &&
    commands.every(({ raw }) => patterns.some((pattern) => matchCommand(pattern, raw.join(' '))))
  );
}

/**
 * Tells whether a pattern fits any command that a line may run, also behind options, paths and wrappers such as `sudo` or
 * `sh -c`. Where the line is not understood, any word may begin a command. Errs on the side of yes, and still cannot see
 * through everything that a shell can do.
 */
export function catchesCommand(pattern: string, line: string): boolean {
  // The literal beginning of the pattern. One that begins with `*` has none, and fits the whole line where it fits at all.
  const head = /^[^*?\\ ]*/.exec(pattern)?.[0] ?? '';
  const begins = (word: string) => head !== '' && baseName(word).startsWith(head);
  for (const candidate of candidates(line, begins, 0)) if (matchCommand(pattern, candidate)) return true;
  return false;
}

/**
 * The paths that a line may name: each word as it is, and in the directories that words before it may lead to. Of a line that
 * is not understood, or names a shell: all that may be words. `undefined` when it may name anything: it leads to too many places,
 * or a shell makes names of what it says.
 */
export function pathsOf(line: string): readonly string[] | undefined {
  const understood = commandsOf(line)?.map(({ words }) => words);
  const rough = roughly(line);
  const namesShell = (understood ? [understood] : rough).flat(2).some((word) => SHELLS.has(baseName(word)));
  const expanded = namesShell || TEXT.test(line) ? line.replaceAll(/['"\\]/g, '') : line;
  if (expanded.replace(LITERAL, '') !== '') return undefined;
  const readings = understood && !namesShell ? [understood] : rough;
  const found = readings.map(pathsIn);
  return found.every((paths) => paths !== undefined) ? found.flat() : undefined;
}

function pathsIn(commands: readonly (readonly string[])[]): readonly string[] | undefined {
  // Home, or where it was before.
  if (commands.some((words) => /(?:^| )(?:cd|pushd)(?: -\S*)*$/.test(words.join(' ')))) return undefined;
  const directories = new Set<string>();
  const found: string[] = [];
  let leads = false;
  for (const word of commands.flat()) {
    if (word.split('/').length > MAX_STEPS) return undefined;
    const options = OPTIONS.exec(word)?.[0].length ?? 0;
    const glued = Array.from({ length: Math.min(options, MAX_OPTIONS) }, (_, at) => word.slice(at + 1));
    const pieces = [word, ...glued, ...word.split(/[=:,@]/).slice(1)].filter((piece) => piece !== '');
    const places = [
      ...pieces,
      ...[...directories].flatMap((directory) => pieces.map((piece) => `${directory}/${piece}`)),
    ];
    found.push(...places);
    if (leads || LEADS_GLUED.test(word)) for (const place of places) directories.add(place);
    if (directories.size > MAX_DIRECTORIES) return undefined;
    leads = LEADS.test(word) || (leads && word.startsWith('-'));
  }
  return found;
}

/** `npm test *` fits `npm test` too. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
}

/** The lists of words that a line may hold once quotes and escapes are taken away, or stand between words. */
function roughly(line: string): readonly (readonly (readonly string[])[])[] {
  return [line.replaceAll(/\\\n|['"\\]/g, ''), line.replaceAll(/['"]/g, ' ')].map((text) =>
    text.split(/[;&|\n(){}`<>]+/).map((part) => part.split(/\s+/).filter((word) => word !== '')),
  );
}

function* candidates(line: string, begins: (word: string) => boolean, depth: number): Iterable<string> {
  yield line.trim();
  const commands = commandsOf(line);
  if (commands === undefined) {
    for (const words of roughly(line).flat()) {
      for (const [index, word] of words.entries()) if (begins(word)) yield* spellings(words.slice(index));
    }
    return;
  }
  for (const { raw, words } of commands) {
    yield raw.join(' ');
    yield* spellings(words);
    if (!WRAPPERS.has(baseName(words[0] ?? ''))) continue;
    for (const [index, word] of words.entries()) {
      if (index > 0 && begins(word)) yield* spellings(words.slice(index));
      if (depth < MAX_DEPTH && /\s/.test(word)) yield* candidates(word, begins, depth + 1);
    }
  }
}

/** A command by its name alone, with and without the options that stand right behind it: `git -C x push` is `git push`. */
function* spellings([command = '', ...rest]: readonly string[]): Iterable<string> {
  const name = baseName(command);
  yield [name, ...rest].join(' ');
  for (let index = 0; index < rest.length && rest[index]?.startsWith('-'); index++) {
    yield [name, ...rest.slice(index + 1)].join(' ');
    if (rest[index + 1]?.startsWith('-')) continue;
    yield [name, ...rest.slice(index + 2)].join(' ');
    index++;
  }
}

function baseName(command: string): string {
  return command.slice(command.lastIndexOf('/') + 1);
}
