import { literalOf, matchWildcard } from '../../lib/wildcard.js';
import { baseName, CommandLine } from './command-line.js';
import { piecesOf } from './command-paths.js';
import { folded } from './path-pattern.js';

/** Matches a part of a plain line: blanks, a separator, a redirection that writes no file, or a word. */
const PART =
  /[ \t]+|&&|\|\|?|;|[12]?>(?:[ \t]*\/dev\/null|&[12])(?=[ \t;&|]|$)|(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+/gu;
const SEPARATOR = /^(?:&&|\|\|?|;)$/;
/** Matches patterns that name no more than a program. */
const ONLY_NAME = /^[^ ]* ?[*?]/;

/**
 * Tests if every command of a line matches one of the patterns. A line with anything but simple commands and plain
 * words, or a line that may run something else, matches only a pattern without wildcards and with the same text.
 */
export function allowsCommand(patterns: readonly string[], given: string): boolean {
  const plain = trimmed(given);
  if (patterns.some((pattern) => literalOf(pattern) === plain)) return true;
  const { isOpaque, commands } = new CommandLine(plain);
  if (isOpaque || commands.some(({ effect }) => /^(?:options|anything)$/.test(effect.doubt ?? '')))
    return false;
  // An option of a program that is not known may run another program.
  const isFree = commands.some(
    ({ words, effect }) => effect.doubt && words.some((word) => /^[-+]/.test(word)),
  );
  const those = isFree ? patterns.filter((pattern) => !ONLY_NAME.test(pattern)) : patterns;
  const texts = plainCommands(plain);
  return texts.length > 0 && texts.every((text) => those.some((pattern) => matchCommand(pattern, text)));
}

/** Returns the commands of a line of plain words as written, or none for any other line. */
function plainCommands(line: string): readonly string[] {
  const parts = line.match(PART) ?? [];
  if (parts.join('') !== line) return [];
  const commands: string[][] = [[]];
  for (const part of parts)
    if (SEPARATOR.test(part)) commands.push([]);
    else if (!/^(?:[12]?>|[ \t])/.test(part)) commands.at(-1)?.push(part);
  // An assignment changes the effect of the command that follows.
  if (commands.some(([name]) => name?.includes('='))) return [];
  return commands.map((words) => words.join(' ')).filter((command) => command !== '');
}

/** Trims blanks. A regular expression for trailing blanks could take quadratic time. */
function trimmed(line: string): string {
  const text = line.trim();
  const around = line.split(text, 2).join('');
  return /^[ \t\n]*$/.test(around) ? text : line;
}

/** Maximum number of options before the words of a command that are skipped. Beyond it the result is `perhaps`. */
const MAX_OPTIONS = 256;

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
  const read = new CommandLine(line);
  let fit: Fit =
    read.isOpaque || read.commands.some(({ effect }) => effect.doubt === 'anything') ? 'perhaps' : 'no';
  // The command name in the pattern. A pattern that starts with `*` matches only whole commands.
  const name = /^(?:\\.|[^ \\])*/.exec(pattern)?.[0] ?? '';
  const isNamed = (word: string) => !name.startsWith('*') && matchWildcard(name, folded(baseName(word)));
  for (const { words, effect } of read.commands) {
    const all = spellings(words);
    if (all.length > MAX_OPTIONS) return 'perhaps';
    if (all.some((spelling) => matchCommand(pattern, folded(spelling.join(' '))))) return 'yes';
    // Another program may run its words. The name may be attached to other text: `-crm`, `y=rm`.
    const isInside = (word: string) =>
      piecesOf(word)?.some((piece) => piece.split(/\s/).some(isNamed)) ?? true;
    if (!effect.isKnown && words.slice(1).some(isInside)) fit = 'perhaps';
  }
  return fit;
}

/** Matches a command against a pattern. `npm test *` also matches `npm test`. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
}

/**
 * Returns a command without its directory, with and without the options after its name and their values: `git -C x push`
 * is also `git push`.
 */
function spellings([command = '', ...rest]: readonly string[]): readonly (readonly string[])[] {
  const isOption = (at: number) => rest[at]?.startsWith('-');
  const end = rest.findIndex((_, at) => !isOption(at) && !isOption(at - 1));
  const begins = [...rest.keys(), rest.length].slice(0, end < 0 ? undefined : end + 1);
  return begins.map((begin) => [baseName(command), ...rest.slice(begin)]);
}
