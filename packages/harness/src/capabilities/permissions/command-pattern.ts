import { type Command as CommandNode, parse, type SyntaxNode } from 'unbash';
import { literalOf, matchWildcard } from '../../lib/wildcard.js';
import { baseName, type CommandLine, RAW_WORD, readLine } from './command-line.js';
import { folded } from './path-pattern.js';

/** What may stand between the words of a line that a rule allows. */
const BETWEEN = /^(?:[ \t;|]|&&|time(?=[ \t]))*$/;
/** Redirections that write no file. */
const HARMLESS = /^(?:[12]?>[ \t]*\/dev\/null|[12]?>&[12])$/;

/**
 * Returns whether every command of a line fits one of the patterns. A line that is more than simple commands of plain words, or
 * that may run something else, fits only a pattern without wildcards that is the very same text.
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

/** The commands of a line of plain words, as written; `undefined` for any other line. */
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
    // An assignment changes what the command behind it does.
    if (words[0]?.includes('=')) return undefined;
    texts.push(words.join(' '));
  }
  return BETWEEN.test(between + line.slice(end)) ? texts : undefined;
}

/** The simple commands that `&&`, `||` and `|` join; `undefined` instead of any other. */
function simpleCommands(node: SyntaxNode): readonly (CommandNode | undefined)[] {
  if (node.type === 'Command') return [node];
  const isJoined =
    node.type === 'AndOr' || (node.type === 'Pipeline' && node.prefixes.every(({ type }) => type === 'Time'));
  return isJoined ? node.commands.flatMap(simpleCommands) : [undefined];
}

function mayRunMore(line: CommandLine): boolean {
  return line.isOpaque || line.commands.some(({ isOpaque }) => isOpaque);
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

/** Whether a rule fits: `perhaps` when a line may run more than its words tell. */
export type Fit = 'yes' | 'perhaps' | 'no';

/**
 * Returns whether a pattern fits any command of a line, also behind options and paths, and in substitutions. It perhaps does when a
 * word of a program that is not understood names the command, when a shell makes a command's name, or when a program is fed what
 * it may run.
 */
export function catchesCommand(rule: string, line: string): Fit {
  const pattern = folded(rule);
  if (matchCommand(pattern, folded(trimmed(line)))) return 'yes';
  const read = readLine(line);
  let fit: Fit = mayRunMore(read) ? 'perhaps' : 'no';
  let units = 0;
  // The name that a command has to have. A pattern that begins with `*` fits whole commands alone.
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
    // Something is glued to it, or it stands in a text: `-crm`, `y=rm`.
    if (!isUnderstood && words.slice(1).some((word) => piecesOf(word).some(isNamed))) fit = 'perhaps';
  }
  return fit;
}

/** What may be a command's name in a word of another, if that is no name itself. */
function piecesOf(word: string): readonly string[] {
  const pieces = word.split(/[^\w./+-]+/);
  const letters = /^-[A-Za-z]{2,}/.exec(word)?.[0].slice(0, MAX_OPTIONS) ?? '';
  const glued = [...letters].map((_, at) => pieces[0]?.slice(at) ?? '').slice(2);
  return pieces.length > 1 ? [...pieces, ...glued] : glued;
}

/** `npm test *` fits `npm test` too. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
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
