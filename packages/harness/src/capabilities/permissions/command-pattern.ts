import { type Command as CommandNode, parse, type SyntaxNode } from 'unbash';
import { literalOf, matchWildcard } from '../../lib/wildcard.js';
import { baseName, type CommandLine, RAW_WORD, readLine } from './command-line.js';
import { folded } from './path-pattern.js';

/** Matches what may separate the words of a line that a rule allows. */
const BETWEEN = /^(?:[ \t;|]|&&|time(?=[ \t]))*$/;
/** Matches redirections that write no file. */
const HARMLESS = /^(?:[12]?>[ \t]*\/dev\/null|[12]?>&[12])$/;

/**
 * Tests if every command of a line matches one of the patterns. A line with anything but simple commands and plain
 * words, or a line that may run something else, matches only a pattern without wildcards and with the same text.
 */
export function allowsCommand(patterns: readonly string[], given: string): boolean {
  const plain = trimmed(given);
  if (patterns.some((pattern) => literalOf(pattern) === plain)) return true;
  const line = readLine(plain);
  const runs = line.commands.some(({ uses }) => uses.some((use) => use.runs && use.walks !== undefined));
  const commands = runs || mayRunMore(line) ? [] : (plainCommands(plain) ?? []);
  return (
    commands.length > 0 &&
    commands.every((command) => patterns.some((pattern) => matchCommand(pattern, command)))
  );
}

/** Returns the commands of a line of plain words as written, or `undefined` for any other line. */
function plainCommands(line: string): readonly string[] | undefined {
  const script = parse(line);
  if (script.errors?.length) return undefined;
  const commands = script.commands.flatMap(({ command }) => simpleCommands(command));
  let end = 0;
  let between = '';
  const texts: string[] = [];
  for (const command of commands) {
    if (command === undefined || command.prefix.length > 0 || command.name === undefined) return undefined;
    const words: string[] = [];
    for (const { type, pos, end: last } of [command.name, ...command.suffix]) {
      const text = line.slice(pos, last);
      const gap = line.slice(end, pos);
      if (words.length === 0 && /\btime[ \t]+$/.test(gap)) words.push('time');
      if ((type === 'Word' || type === 'Assignment') && RAW_WORD.test(text)) words.push(text);
      else if (type !== 'Redirect' || !HARMLESS.test(text)) return undefined;
      between += gap;
      end = last;
    }
    // An assignment changes the effect of the command that follows.
    if (words[0]?.includes('=')) return undefined;
    texts.push(words.join(' '));
  }
  return BETWEEN.test(between + line.slice(end)) ? texts : undefined;
}

/** Returns the simple commands that `&&`, `||` and `|` join, with `undefined` for any other node. */
function simpleCommands(node: SyntaxNode): readonly (CommandNode | undefined)[] {
  if (node.type === 'Command') return [node];
  const isJoined =
    node.type === 'AndOr' || (node.type === 'Pipeline' && node.prefixes.every(({ type }) => type === 'Time'));
  return isJoined ? node.commands.flatMap(simpleCommands) : [undefined];
}

function mayRunMore(line: CommandLine): boolean {
  return line.isOpaque || line.commands.some(({ isOpaque }) => isOpaque);
}

/** Trims blanks. A regular expression for trailing blanks could take quadratic time. */
function trimmed(line: string): string {
  let end = line.length;
  while (end > 0 && ' \t\n'.includes(line[end - 1] as string)) end--;
  return line.slice(0, end).replace(/^[ \t\n]+/, '');
}

/**
 * Limits for the options of one command, and for the UTF-16 units of all spellings of a line. Beyond them the result is
 * `perhaps`.
 */
const MAX_OPTIONS = 256;
const MAX_UNITS = 4_000_000;

/** Result of a match. `perhaps` means that a line may run more than its words show. */
export type Fit = 'yes' | 'perhaps' | 'no';

/**
 * Tests if a pattern matches any command of a line, including commands in substitutions and after options and paths.
 * Returns `perhaps` if an argument of an unknown program names the command, if the command's name is expanded by the
 * shell, or if a program may run its input.
 */
export function catchesCommand(rule: string, line: string): Fit {
  const pattern = folded(rule);
  if (matchCommand(pattern, folded(trimmed(line)))) return 'yes';
  const read = readLine(line);
  let fit: Fit = mayRunMore(read) ? 'perhaps' : 'no';
  let units = 0;
  // The command name in the pattern. A pattern that starts with `*` matches only whole commands.
  const name = /^(?:\\.|[^ \\])*/.exec(pattern)?.[0] ?? '';
  const isNamed = (word: string) => !name.startsWith('*') && matchWildcard(name, folded(baseName(word)));
  for (const { words, isUnderstood, isQuoted } of read.commands) {
    const begins = isUnderstood
      ? [0]
      : [...words.keys()].filter((at) => at === 0 || isNamed(words[at] ?? ''));
    for (const at of begins)
      for (const spelling of spellings(words.slice(at))) {
        units += spelling.length;
        if (units > MAX_UNITS) return 'perhaps';
        if (!matchCommand(pattern, folded(spelling))) continue;
        if (at === 0 && !isQuoted) return 'yes';
        fit = 'perhaps';
      }
    // The name may be attached to other text: `-crm`, `y=rm`.
    if (!isUnderstood && words.slice(1).some((word) => piecesOf(word).some(isNamed))) fit = 'perhaps';
  }
  return fit;
}

/** Returns the parts of a word that may be a command's name. */
function piecesOf(word: string): readonly string[] {
  const pieces = word.split(/[^\w./+-]+/);
  const letters = /^-[A-Za-z]{2,}/.exec(word)?.[0].slice(0, MAX_OPTIONS) ?? '';
  const glued = [...letters].map((_, at) => pieces[0]?.slice(at) ?? '').slice(2);
  return pieces.length > 1 ? [...pieces, ...glued] : glued;
}

/** Matches a command against a pattern. `npm test *` also matches `npm test`. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
}

/**
 * Yields a command without its directory, with and without the options after its name: `git -C x push` is also
 * `git push`.
 */
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
