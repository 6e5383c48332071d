import { plainPath } from './path-pattern.js';

/** Shells that read a line as POSIX says, and `/proc/self/exe`, which is one to what a shell starts. */
const POSIX_SHELL = /^(?:exe|(?:r?ba|da|a|o|ya|hu|po|[mlop]?d?k|m?k)?sh|busybox|toybox)[\d.-]*$/i;
/** What runs lines of a language of its own, or a shell that reads whatever comes in. */
const OTHER_SHELL =
  /^(?:t?csh|zsh|fish|xonsh|pwsh|powershell|murex|su|runuser|newgrp|chroot|unshare|nsenter|setarch|linux(?:32|64)|machinectl)[\d.-]*(?:\.exe)?$/i;
/** The same where they are words for something else, too, as a script or a folder is named. */
const PERHAPS_SHELL = /^(?:nu|rc|es|elvish|ion|cmd|parallel|sg|login|script|at|batch)[\d.-]*(?:\.exe)?$/i;
/** Commands that read an argument as a line, beside shells. */
const LINE_READER =
  /^(?:eval|trap|alias|watch|flock|hyperfine|tmux|screen|concurrently|ssh|compgen|complete|bind|mapfile|readarray)$/i;
/** Commands that run another one, which is named by their arguments. */
const WRAPPER = new RegExp(
  '^(?:env|sudo|doas|pkexec|command|builtin|exec|coproc|nohup|i?o?nice|taskset|chrt|prlimit|setpriv|g?time|g?timeout|setsid|stdbuf|unbuffer' +
    '|strace|ltrace|fakeroot|systemd-run|start-stop-daemon|xargs|find|npx|bunx|pnpm|yarn|uv|direnv)$',
);
/** Words that stand before a command, and what is set for it. */
const KEYWORD =
  /^(?:if|then|elif|else|while|until|for|select|case|function|do|!|\{|command|builtin|exec|coproc|time|[A-Za-z_]\w*\+?=.*)$/s;
/** Commands whose arguments may be programs that name files; of these the ones that glue names to letters. */
const INTERPRETER =
  /^(?:python|pypy|node|deno|bun|tsx|perl|ruby|irb|php|lua|luajit|tclsh|[gmn]?awk|emacs|make|jq|sqlite|psql|mysql|mariadb|R|Rscript|julia|swift|scala|groovy|elixir|iex|erl|ghc|ghci|osascript|gdb)(?:[\d.][\w.-]*)?$/i;
const EDITOR = /^(?:g?sed|ed|red|ex|n?vim?|view)$/i;
/** Commands for which a shell is a word as any other. */
const NAMES_ALONE = /^(?:echo|printf|which|type|man|apropos|e?grep|rg|git|apt|apt-get|brew|dnf|apk)$/;
/** `env -S` takes a line apart, by rules of its own. */
const SPLIT = /^-(?:[A-Za-z]*S|-s)/;
/** Options of shells that have a value behind them. */
const VALUED = /^[-+](?:[A-Za-z]*[oO][A-Za-z]*|-(?:rc|init-)file)$/;
/** Variables that a shell runs, and indexes of lists, in which it runs what they hold. */
const RUN_BY_SHELL =
  /^(?:PS\d|PROMPT_COMMAND|BASH_ENV|ENV|BASH_ALIASES\b.*|BASH_FUNC_.*)\+?=|=(?:PS\d|PROMPT_COMMAND|BASH_(?:ENV|ALIASES)|ENV)$|\w\[[\s\S]*(?:\$\(|`)/;
/** Those variables where something else sets them: `for PS4 in …`, `read PS4`, `printf -v PS4`. */
const SET_ELSEWHERE = /^(?:-[a-z]+)?(?:PS\d|PROMPT_COMMAND|BASH_ENV|ENV|BASH_ALIASES)(?:\[.*)?$/s;
/** Commands that take words from what was said before, or make a shell read words otherwise, and options that do. */
const READS_OTHERWISE = /^(?:history|fc|shopt|enable)$/;
const OPTION_OTHERWISE = /^(?:history|histexpand|cdable_vars|[-+][A-Za-z]*[HO]\w*)$/;
/** Commands that take an index of a list, in which names stand for what they hold: `test -v 'a[x]'`. */
const INDEXES =
  /^(?:test|\[\[?|printf|read|unset|declare|typeset|local|readonly|export|wait|mapfile|readarray)$/;
const NAMED_INDEX = /^(?:-\w)?\w+\[[^\]]*[A-Za-z_]/;
/** Commands that read what they are given as a list, or as a sum in which names stand for what they hold. */
const DECLARES = /^(?:declare|typeset|local|readonly|export|integer)$/;
const OPENS_LIST = /^\w+\+?=\([\s\S]*(?:\$\(|`)/;
const COMPARES = /^-(?:eq|ne|lt|le|gt|ge)$/;
/** Commands that take what comes in for a text, and never for names or lines. */
const KEEPS_TEXT =
  /^(?:cat|tee|echo|printf|mkdir|chmod|touch|true|:|test|\[|ls|pwd|cd|head|tail|rm|mv|cp|diff|cmp)$/;

export function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

/** The name of a command, behind what may stand before it. */
export function nameOf(words: readonly string[]): string {
  const isBefore = (word: string, index: number) => KEYWORD.test(word) || (index > 0 && word.startsWith('-'));
  return baseName(words.find((word, index) => !isBefore(word, index)) ?? '');
}

function names(words: readonly string[], pattern: RegExp): boolean {
  return words.some((word) => pattern.test(baseName(word)));
}

/** Whether a command runs another that its arguments name, or that stands behind it. */
export function wraps([command = '']: readonly string[]): boolean {
  const name = baseName(command);
  return [WRAPPER, KEYWORD, POSIX_SHELL, OTHER_SHELL, PERHAPS_SHELL, LINE_READER].some((each) =>
    each.test(name),
  );
}

/** Whether a command has words that are programs, which name files in a language of their own; in an editor's, behind a letter. */
export function programIn(words: readonly string[]): 'letters' | 'program' | undefined {
  if (names(words, EDITOR)) return 'letters';
  return names(words, INTERPRETER) || readsLines(words) ? 'program' : undefined;
}

/** Whether words of a command are lines of a shell. */
export function readsLines(words: readonly string[]): boolean {
  return names(words, POSIX_SHELL) || names(words, LINE_READER) || isSource(words) || splits(words);
}

function isSource(words: readonly string[]): boolean {
  return /^(?:\.|source)$/.test(nameOf(words));
}

function splits(words: readonly string[]): boolean {
  return names(words, /^env$/) && words.some((word) => SPLIT.test(word));
}

/**
 * Whether what a command does cannot be told from its words: a shell of another language, one that is handed a text by somebody else,
 * names that are put together from what comes in, variables that a shell runs.
 */
export function isOpaque(words: readonly string[]): boolean {
  if (words.some((word) => RUN_BY_SHELL.test(word)) || reckons(words)) return true;
  const name = nameOf(words);
  const sets = name === 'printf' ? words.some((word) => word.startsWith('-v')) : !NAMES_ALONE.test(name);
  if (sets && words.some((word) => SET_ELSEWHERE.test(word))) return true;
  if (INDEXES.test(name) && words.some((word) => NAMED_INDEX.test(word))) return true;
  if (NAMES_ALONE.test(name)) return false;
  const isSet = READS_OTHERWISE.test(name) || name === 'set' || names(words, POSIX_SHELL);
  if (READS_OTHERWISE.test(name) || (isSet && words.some((word) => OPTION_OTHERWISE.test(word)))) return true;
  if (names(words, OTHER_SHELL)) return true;
  if (PERHAPS_SHELL.test(baseName(name)) || (wraps(words) && names(words, PERHAPS_SHELL))) return true;
  if (splits(words) && words.some((word) => word.includes('\\'))) return true;
  if (isSource(words) && words.some(isDevice)) return true;
  if (names(words, /^(?:xargs|find)$/) && (names(words, POSIX_SHELL) || composes(words))) return true;
  if (name === 'curl' && words.some((word) => /^file:.*[{[]/i.test(word))) return true;
  return parts(words) || readsInput(words);
}

/** Whether what comes in is taken apart at a sign of the command's own: `xargs -dx`. */
function parts(words: readonly string[]): boolean {
  const isSign = (word: string, index: number) => {
    const [, glued] = /^(?:-[A-Za-z\d]*d|--d\w*=?)(.*)$/s.exec(word) ?? [];
    return glued !== undefined && !/^\\?[n0]?$/.test(glued || (words[index + 1] ?? ''));
  };
  return names(words, /^xargs$/) && words.some(isSign);
}

/** Whether a shell reckons with what names hold, and runs what it finds in their indexes: `let y`, `[[ y -eq 1 ]]`, `declare -i y`. */
function reckons(words: readonly string[]): boolean {
  const name = nameOf(words);
  if (name === 'let') return true;
  if (DECLARES.test(name)) return words.some((word) => /^-\w*i/.test(word) || OPENS_LIST.test(word));
  const isName = (word: string | undefined) => word !== undefined && !/^-?\d+$/.test(word);
  const compares = (word: string, at: number) =>
    COMPARES.test(word) && (isName(words[at - 1]) || isName(words[at + 1]));
  return words.includes('[[') && words.some(compares);
}

/** Whether a command takes what comes in for a text alone: a here-document for it holds no names. */
export function keepsText(words: readonly string[]): boolean {
  const [name = '', action] = words;
  const commits =
    name === 'git' && action === 'commit' && !words.some((word) => word.startsWith('--pathspec'));
  return commits || KEEPS_TEXT.test(name);
}

/** Whether a command is a shell that reads what another one says, or starts one for each thing that it says. */
export function isHanded(words: readonly string[]): boolean {
  const name = nameOf(words);
  return (POSIX_SHELL.test(name) && readsInput(words)) || (name === 'xargs' && names(words, POSIX_SHELL));
}

/** Whether a path leads to a file whose contents another command makes, wherever it begins. */
function isDevice(path: string): boolean {
  const { names, absolute } = plainPath(path);
  const [first = ''] = names.filter((name) => name !== '..');
  return (absolute || names[0] === '..') && (first === 'dev' || first === 'proc');
}

/** Whether a shell among the words is given neither a line nor a file, so that it reads what another command says. */
function readsInput(words: readonly string[]): boolean {
  const at = words.findLastIndex((word) => POSIX_SHELL.test(baseName(word)));
  if (at < 0) return names(words, /^(?:sudo|doas)$/) && words.some((word) => /^-[A-Za-z]*[si]/.test(word));
  const given = words.slice(at + 1);
  const file = given.find((word, index) => !/^[-+]/.test(word) && !VALUED.test(given[index - 1] ?? ''));
  return file === undefined || isDevice(file) || given.some((word) => /^-[A-Za-z]*s[A-Za-z]*$/.test(word));
}

/** Whether a word has a place for what comes in, and more: `xargs -I{} cat {}nv`. */
function composes(words: readonly string[]): boolean {
  const places = new Map([[-1, '{}']]);
  for (const [index, word] of words.entries()) {
    const [, glued] = /^-(?:[A-Za-z\d]*?[Ii]|-r\w*=?)(.*)$/s.exec(word) ?? [];
    if (glued !== undefined) places.set(index, glued || words[index + 1] || '{}');
  }
  const isMore = (word: string, index: number) =>
    !places.has(index) && [...places.values()].some((place) => word !== place && word.includes(place));
  return words.some(isMore);
}
