import { type ShellPart, shellParts } from './shell-parts.js';
import { literalOf, matchWildcard } from './wildcard.js';

/** Commands that run another one, which is named by their arguments; and words that stand before a command. */
const WRAPPERS = new Set(
  (
    'sudo doas env command builtin exec eval nohup nice time timeout setsid stdbuf watch xargs find busybox ' +
    'sh bash dash zsh ksh if then elif else while until do ! {'
  ).split(' '),
);
const MAX_DEPTH = 3;

/** Tells whether a command that begins with this word may fit. */
type Begins = (word: string) => boolean;

/**
 * Tells whether every command of a line fits one of the patterns. A line that is not understood with certainty fits only
 * a pattern without wildcards that is the very same text.
 */
export function allowsCommand(patterns: readonly string[], line: string): boolean {
  if (patterns.some((pattern) => literalOf(pattern) === line.trim())) return true;
  const { parts, simple } = shellParts(line);
  return (
    simple &&
    parts.length > 0 &&
    parts.every(({ text }) => patterns.some((pattern) => matchCommand(pattern, text)))
  );
}

/**
 * Tells whether a pattern fits any command that a line may run, also within substitutions and behind assignments, paths and
 * wrappers such as `sudo` or `sh -c`. Errs on the side of yes, and still cannot see through everything that a shell can do.
 */
export function catchesCommand(pattern: string, line: string): boolean {
  // The literal beginning of the pattern. One that begins with `*` has none, and fits the whole line where it fits at all.
  const head = /^[^*?\\ ]*/.exec(pattern)?.[0] ?? '';
  const begins = (word: string) => head !== '' && baseName(word).startsWith(head);
  for (const candidate of candidates(line, begins, 0)) if (matchCommand(pattern, candidate)) return true;
  return false;
}

/** `npm test *` fits `npm test` too. */
function matchCommand(pattern: string, command: string): boolean {
  if (matchWildcard(pattern, command)) return true;
  return pattern.endsWith(' *') && matchWildcard(pattern.slice(0, -2), command);
}

function* candidates(line: string, begins: Begins, depth: number): Iterable<string> {
  const { parts, quoted } = shellParts(line);
  yield line.trim();
  for (const part of parts) yield* candidatesOf(part, begins, depth);
  if (depth < MAX_DEPTH) for (const text of quoted) yield* candidates(text, begins, depth + 1);
}

function* candidatesOf({ text, words }: ShellPart, begins: Begins, depth: number): Iterable<string> {
  yield text;
  const first = words.findIndex((word) => !/^\w+=/.test(word));
  if (first === -1) return;
  const command = words.slice(first);
  yield named(command);
  if (!WRAPPERS.has(baseName(command[0] ?? ''))) return;
  for (const [index, word] of command.entries()) {
    if (index === 0) continue;
    if (begins(word)) yield named(command.slice(index));
    if (depth < MAX_DEPTH && /\s/.test(word)) yield* candidates(word, begins, depth + 1);
  }
}

/** A command by its name alone: `/bin/rm -rf x` is `rm -rf x`. */
function named([command = '', ...rest]: readonly string[]): string {
  return [baseName(command), ...rest].join(' ');
}

function baseName(command: string): string {
  return command.slice(command.lastIndexOf('/') + 1);
}
