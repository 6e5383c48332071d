import { literalOf, matchWildcard } from '../../lib/wildcard.js';
import { baseName, readLine } from './command-line.js';
import { MAX_OPTIONS, piecesOf } from './command-paths.js';
import { folded } from './path-pattern.js';
import { UNKNOWN } from './programs.js';

/** Matches a part of a plain line: blanks, a separator, a redirection that writes no file, or a word. */
const PART =
  /[ \t]+|&&|\|\|?|;|[12]?>(?:[ \t]*\/dev\/null|&[12])(?=[ \t;&|]|$)|(?:[\w./:@%+,=-]|(?<=[\w.])~|'[^'\p{Cc}]*'|"[^"$`\\!\p{Cc}]*")+/gu;

/**
 * Tests if every command of a line matches one of the patterns. A line with anything but simple commands and plain
 * words, or a line that may run something else, matches only a pattern without wildcards and with the same text.
 */
export function allowsCommand(patterns: readonly string[], given: string): boolean {
  const plain = trimmed(given);
  if (patterns.some((pattern) => literalOf(pattern) === plain)) return true;
  const { commands } = readLine(plain);
  // An option may run another program, and so may a subcommand of Git.
  const doubts = commands.map(({ words, effect }) => `${effect.does} ${words.join()}`).join('\n');
  if (/^anything|^options .*,[-+]/m.test(doubts)) return false;
  const isFree = /^files (?:.*,)?[-+]|^options git,/m.test(doubts);
  const those = isFree ? patterns.filter((pattern) => !/^[^ ]* ?[*?]/.test(pattern)) : patterns;
  const parts = plain.match(PART) ?? [];
  const texts = parts.map((each) => (/^[;&|]/.test(each) ? '\n' : /^\s|^\d?>/.test(each) ? '' : `${each} `));
  const all = texts.join('').match(/[^\n]+/g) ?? [];
  // An assignment changes the effect of the command that follows.
  const isOther = all.length === 0 || all.some((text) => /^[^ ]*['"=]/.test(text));
  if (isOther || parts.join('') !== plain) return false;
  return all.every((text) => those.some((each) => matches(each, text.slice(0, -1))));
}

/** Trims blanks. The lookbehind keeps the time linear. */
const trimmed = (line: string) => line.replace(/^[ \t\n]+|(?<![ \t\n])[ \t\n]+$/g, '');

/** Result of a match. `perhaps` means that a line may run more than its words show. */
export type Fit = 'yes' | 'perhaps' | 'no';

/**
 * Tests if a pattern matches any command of a line, including commands in substitutions and after options and paths.
 * Returns `perhaps` if an argument of an unknown program names the command, if the command's name is expanded by the
 * shell, or if a program may run its input.
 */
export function catchesCommand(rule: string, line: string): Fit {
  const pattern = folded(rule);
  const { commands, isClear } = readLine(line);
  const texts = [trimmed(line), ...commands.flatMap(({ words }) => spellings(words))];
  if (texts.some((text) => matches(pattern, folded(text)))) return 'yes';
  // The command name in the pattern. A pattern that starts with `*` matches only whole commands.
  const name = /^(?:\\.|[^ \\])*/.exec(pattern)?.[0] ?? '';
  const isNamed = (word: string) =>
    !name.startsWith('*') && matchWildcard(baseName(name), folded(baseName(word)));
  // Another program may run its words. The name may be attached to other text: `-crm`, `y=rm`.
  const isInside = (word: string) => piecesOf(word)?.some((each) => each.split(/\s/).some(isNamed)) ?? true;
  const inner = commands.flatMap(({ words: [own = '', ...rest], effect }) =>
    UNKNOWN.test(effect.does) || /^(?:find|xargs)$/.test(own) ? rest : [],
  );
  const isOpaque = commands.some(
    ({ words, effect }) => effect.does === 'anything' || spellings(words).length > MAX_OPTIONS,
  );
  // A word that is expanded may be anything.
  const isUnclear =
    !isClear && (name.startsWith('*') || commands.some(({ words: [own = ''] }) => isNamed(own)));
  return isOpaque || isUnclear || inner.some(isInside) ? 'perhaps' : 'no';
}

/** Matches a command against a pattern. `npm test *` also matches `npm test`. */
const matches = (pattern: string, command: string) =>
  [pattern, pattern.replace(/ \*$/, '')].some((each) => matchWildcard(each, command));

/**
 * Returns a command with and without its directory, and with and without the options after its name and their values: `git -C x push`
 * is also `git push`.
 */
function spellings([command = '', ...rest]: readonly string[]): readonly string[] {
  const end = rest.findIndex((word, at) => !/^-/.test(word) && !/^-/.test(rest[at - 1] ?? ''));
  const begins = [...rest.keys(), rest.length].slice(0, end + 1 || undefined).slice(0, MAX_OPTIONS + 1);
  const names = [...new Set([baseName(command), command])];
  return begins.flatMap((begin) => names.map((name) => [name, ...rest.slice(begin)].join(' ')));
}
