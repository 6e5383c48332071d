/** Shells that read a line as POSIX says. */
const POSIX_SHELL = /^(?:(?:r?ba|da|a|o|ya|hu|po|[mlop]?d?k|m?k)?sh|busybox|toybox)[\d.-]*$/i;
/** Shells with a language of their own. */
const OTHER_SHELL =
  /^(?:t?csh|zsh|fish|xonsh|pwsh|powershell|nu|rc|es|elvish|ion|murex|cmd)[\d.-]*(?:\.exe)?$/i;
/** Commands that read an argument as a line, beside shells. */
const LINE_READER =
  /^(?:eval|trap|alias|su|watch|parallel|flock|script|hyperfine|tmux|screen|concurrently|ssh|at|batch)$/i;
/** Commands that run another one, which is named by their arguments. */
const WRAPPER =
  /^(?:env|sudo|doas|command|builtin|exec|coproc|nohup|i?o?nice|time|timeout|setsid|stdbuf|xargs|chroot|find)$/;
/** Words that stand before a command. */
const KEYWORD = /^(?:if|then|elif|else|while|until|do|!|\{|command|builtin|time|[A-Za-z_]\w*=.*)$/s;
/** Commands whose arguments may be programs that name files. */
const INTERPRETER =
  /^(?:python|pypy|node|deno|bun|tsx|perl|ruby|irb|php|lua|luajit|tclsh|[gmn]?awk|g?sed|ed|ex|n?vim?|emacs|make|jq|sqlite|psql|mysql|mariadb|R|Rscript|julia|swift|scala|groovy|elixir|iex|erl|ghc|ghci|osascript|gdb)[\d.]*$/i;
/** Commands that only say what they are given, or the names that there are. */
const SAYS = /^(?:echo|printf|exit|return|kill|wait|test|\[\[?|ls|:|true|false|for)$/;
/** Commands for which a shell is a word as any other. */
const NAMES_ALONE = /^(?:echo|printf|which|type|man|apropos|e?grep|rg|git|apt|apt-get|brew|dnf|apk)$/;
/** Reads the lines of a file, unless it is an argument. */
const SOURCE = /^(?:\.|source)$/;
/** `env -S` takes a line apart, by rules of its own. */
const SPLIT = /^-(?:[A-Za-z]*S|-s)/;
/** Options of shells that have a value behind them. */
const VALUED = /^[-+](?:[A-Za-z]*[oO]|-(?:rc|init-)file)$/;
/** A file whose contents another command has made. */
const DEVICE = /^\/(?:dev|proc)\//;

export function baseName(word: string): string {
  return word.slice(word.lastIndexOf('/') + 1);
}

/** The name of a command, behind what may stand before it. */
function nameOf(words: readonly string[]): string {
  return baseName(words.find((word) => !KEYWORD.test(word)) ?? '');
}

/** Whether a command runs another that its arguments name, or that stands behind it. */
export function wraps([command = '']: readonly string[]): boolean {
  const name = baseName(command);
  return [WRAPPER, KEYWORD, POSIX_SHELL, OTHER_SHELL, LINE_READER].some((each) => each.test(name));
}

/** Whether a command only says what its words become: it opens no file of theirs. */
export function onlySays(words: readonly string[]): boolean {
  // One by a path may be another.
  return SAYS.test(words.find((word) => !KEYWORD.test(word)) ?? ':');
}

/** Whether a command has words that are programs, which name files in a language of their own. */
export function runsProgram(words: readonly string[]): boolean {
  return words.some((word) => INTERPRETER.test(baseName(word)));
}

/** Whether words of a command are lines of a shell. */
export function readsLines(words: readonly string[]): boolean {
  return (
    names(words, POSIX_SHELL) || names(words, LINE_READER) || SOURCE.test(nameOf(words)) || splits(words)
  );
}

function names(words: readonly string[], pattern: RegExp): boolean {
  return words.some((word) => pattern.test(baseName(word)));
}

function splits(words: readonly string[]): boolean {
  return names(words, /^env$/) && words.some((word) => SPLIT.test(word));
}

/**
 * Whether what a command does cannot be told from its words: a shell of another language, one that is handed a text by somebody else,
 * names that are put together from what comes in.
 */
export function isOpaque(words: readonly string[]): boolean {
  const name = nameOf(words);
  if (NAMES_ALONE.test(name)) return false;
  if (names(words, OTHER_SHELL) || names(words, /^parallel$/)) return true;
  if (splits(words) && words.some((word) => word.includes('\\'))) return true;
  if (SOURCE.test(name) && words.some((word) => DEVICE.test(word))) return true;
  return (names(words, /^(?:xargs|find)$/) && composes(words)) || readsInput(words);
}

/** Whether a shell among the words is given neither a line nor a file, so that it reads what another command says. */
function readsInput(words: readonly string[]): boolean {
  const at = words.findLastIndex((word) => POSIX_SHELL.test(baseName(word)));
  if (at < 0) {
    const isRoot = names(words, /^(?:sudo|doas)$/) && words.some((word) => /^-[A-Za-z]*[si]/.test(word));
    return isRoot || names(words, /^(?:su|at|batch)$/);
  }
  const given = words.slice(at + 1);
  const file = given.find((word, index) => !/^[-+]/.test(word) && !VALUED.test(given[index - 1] ?? ''));
  return file === undefined || DEVICE.test(file) || given.some((word) => /^-[A-Za-z]*s[A-Za-z]*$/.test(word));
}

/** Whether a word has a place for what comes in, and more: `xargs -I{} cat {}nv`. */
function composes(words: readonly string[]): boolean {
  const places = new Map([[-1, '{}']]);
  for (const [index, word] of words.entries()) {
    const [, glued] = /^-(?:[A-Za-z\d]*?[Ii]|-replace=?)(.*)$/s.exec(word) ?? [];
    if (glued !== undefined) places.set(index, glued || words[index + 1] || '{}');
  }
  const isMore = (word: string, index: number) =>
    !places.has(index) && [...places.values()].some((place) => word !== place && word.includes(place));
  return words.some(isMore);
}
