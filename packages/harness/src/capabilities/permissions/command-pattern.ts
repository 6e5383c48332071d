import { literalOf, matchWildcard } from '../../lib/wildcard.js';
import { baseName, isHanded, programIn, wraps } from './shell-words.js';

/**
 * The tokens of a line that every POSIX shell reads alike: blanks, words of characters without a meaning or in quotes in
 * which nothing is replaced, `&&`, `||`, `;`, `|`, and redirections that write no file. Whatever else a line holds
 * (substitutions, patterns, escapes, groups, line breaks, comments) makes it one that is not understood.
 */
const TOKEN =
  /[ \t]+|(?<operator>&&|\|\||[;|])|(?:[12]?>[ \t]*\/dev\/null|[12]?>&[12])(?=[ \t;|&]|$)|(?<word>(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+)(?=[ \t;|&]|$)/uy;

const MAX_DEPTH = 3;

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
  const plain = trimmed(line);
  if (patterns.some((pattern) => literalOf(pattern) === plain)) return true;
  const commands = commandsOf(plain) ?? [];
  return (
    commands.length > 0 &&
    commands.every(({ raw }) => patterns.some((pattern) => matchCommand(pattern, raw.join(' '))))
  );
}

/** Without the blanks around it. An expression would look for the last ones at each. */
function trimmed(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\n'.includes(line[end - 1] as string)) end--;
  return line.slice(0, end).replace(/^[ \t\n]+/, '');
}

/** A command with more options than that may be any, and a line whose possible commands have more UTF-16 units together. */
const MAX_OPTIONS = 256;
const MAX_UNITS = 4_000_000;

/** A command whose name a shell puts together: `$X`, `r${y}m`, `$(which rm)`. */
const MADE_NAME = new RegExp(
  String.raw`(?:^|[;&|\n!]|(?<!=)\(|\{(?=\s))\s*(?:(?:then|do|else|elif|if|while|until|exec|command|env|sudo|eval|time|nohup)\s+)*` +
    String.raw`(?:[A-Za-z_]\w*\+?=\S*\s+)*(?![A-Za-z_]\w*\+?=)[^\s;&|(){}<>!'$\x60]*(?:\$[\w{(@*]|\x60)`,
);

/** Texts in quotes in which a shell replaces nothing. */
const PLAIN_TEXT = /'[^']*'|"(?:[^"$`\\]|\\[\s\S]|\$(?![\w({@*#?$!-]))*"/g;

/**
 * Tells whether a pattern fits any command that a line may run, also behind options, paths and wrappers such as `sudo` or
 * `sh -c`, and in the programs of interpreters. Where the line is not understood, any word may begin a command; a name that a shell
 * makes, and a shell that is handed its lines, may be any. Errs on the side of yes, and still cannot see through everything
 * that a shell can do.
 */
export function catchesCommand(pattern: string, line: string): boolean {
  const isUnknown =
    (line.match(/\s-/g)?.length ?? 0) > MAX_OPTIONS ||
    MADE_NAME.test(line.replaceAll(PLAIN_TEXT, "''")) ||
    (commandsOf(line) ?? []).some(({ words }) => isHanded(words));
  if (isUnknown) return true;
  // The literal beginning of the pattern. One that begins with `*` has none, and fits the whole line where it fits at all.
  const head = /^[^*?\\ ]*/.exec(pattern)?.[0] ?? '';
  const begins = (word: string) => head !== '' && baseName(word).startsWith(head);
  let units = 0;
  for (const candidate of candidates(line, begins, 0)) {
    units += candidate.length;
    if (units > MAX_UNITS || matchCommand(pattern, candidate)) return true;
  }
  return false;
}

/** `npm test *` fits `npm test` too. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
}

/** The lists of words that a line may hold once quotes and escapes are taken away, or stand between words. */
function roughly(line: string): readonly (readonly string[])[] {
  return [line.replaceAll(/\\\n|['"\\]/g, ''), line.replaceAll(/['"]/g, ' ')].flatMap((text) =>
    text.split(/[;&|\n(){},`<>]+/).map((part) => part.split(/\s+/).filter((word) => word !== '')),
  );
}

function* candidates(line: string, begins: (word: string) => boolean, depth: number): Iterable<string> {
  yield line.trim();
  const commands = commandsOf(line);
  if (commands === undefined) {
    for (const words of roughly(line)) {
      for (const [index, word] of words.entries()) if (begins(word)) yield* spellings(words.slice(index));
    }
    return;
  }
  for (const { raw, words } of commands) {
    yield raw.join(' ');
    yield* spellings(words);
    if (!wraps(words) && programIn(words) !== 'program') continue;
    for (const [index, word] of words.entries()) {
      if (index > 0 && begins(word)) yield* spellings(words.slice(index));
      if (depth < MAX_DEPTH) for (const line of linesIn(word)) yield* candidates(line, begins, depth + 1);
    }
  }
}

/** What may be a line in a word: `y=rm x` for `alias`, `-crm x` for `su`. */
function linesIn(word: string): readonly string[] {
  const options = /^-[A-Za-z]+/.exec(word)?.[0].length ?? 0;
  const glued = Array.from({ length: options && options - 1 }, (_, at) => word.slice(at + 2));
  const lines = [word.replace(/^(?:[A-Za-z_]\w*|--[\w-]+)=/, ''), ...glued];
  return lines.filter((line) => line !== word || /\s/.test(line));
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
