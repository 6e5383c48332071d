/** Effects of a program on its arguments, in addition to opening the files that they name. */
export interface Understood {
  /**
   * Opens all files below the directories in its arguments. With `here` and no directory, opens those below the current
   * directory.
   */
  readonly walks?: 'named' | 'here' | undefined;
  /** The arguments that may be such directories. Default: all. */
  readonly places?: readonly string[] | undefined;
  /** Opens only files whose name matches this pattern. */
  readonly name?: string | undefined;
  readonly skipsHidden?: boolean;
  /** Runs another program that is understood. */
  readonly runs?: boolean;
  /** Its input must be file names only, because an option among them could print a file. */
  readonly takesNames?: boolean;
  /** May run any program, or open files that no argument names. */
  readonly isOpaque?: boolean;
  /** Accepts numeric shell variables such as `$?`. */
  readonly takesNumbers?: boolean;
}

type Reader = (words: readonly string[]) => Understood | undefined;

const OPAQUE: Understood = { isOpaque: true };

/** Matches options with which a program runs another, or reads names from a file. */
const INDIRECT = /-from\b|^--(?:co(?:m|=|$)|pre(?:-glob)?\b|hostname-bin)/;
/** Matches `--files0-from` and its abbreviations. */
const LISTS = /^--f(?:i|il|ile|iles|iles0.*)?(?:=|$)/;
/** Matches a name, option, address or number, but no text that a program could interpret as a command line or code. */
const PLAIN = /^[\w./:@%+,=~^-]*$/;
/**
 * Matches Python or JavaScript code that only prints; as shell code it is a syntax error.
 * Bounded because no single letter of `sys.version` is a word and longer code is not matched.
 */
const PRINTS =
  /^(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;

const ADDRESS = String.raw`(?:\d+|\$|/(?:[^\\/\n]|\\.)*/)`;
const SED = new RegExp(
  String.raw`^(?:(?:(?:${ADDRESS}(?:,${ADDRESS})?)?[pdq]|s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)(?:[; ]+|$))*$`,
);
const SED_OPTION = /^-(?:[nEru]+|n?i(?:\.\w+)?)$/;
/** Bounded because scripts over `MAX_SCRIPT` characters are not matched. */
const AWK =
  /^(?:\/[^/\\]*\/ *|N[RF] *[=<>!]=? *\d+ *)?(?:\{ *print(?:[ ,]+(?:\$(?:\d+|NF)|N[RF]|"[^"\\]*"))* *;? *\})?$|^1$/;
const MAX_SCRIPT = 1_000;

const TAR = /^-?[cxtzjJvpkOf]+$|^-C|^--(?:exclude|directory|strip-components)(?:=|$)|^--one-file-system$/;
const CURL_TEXT = /^(?:-[HdXAu]|--(?:header|data|data-raw|request|user-agent|user))$/;
const CURL_PLAIN = /^(?!-K|--conf|-[a-zA-Z]*K)[\w./:@+,=~-]*$|^https?:\/\/[\w./:@?&=#+,~-]*$/;

const GIT =
  /^(?:add|blame|branch|checkout|cherry-pick|clean|clone|commit|config|describe|diff|fetch|for-each-ref|grep|init|log|ls-files|ls-tree|merge|merge-base|mv|pull|push|rebase|reflog|remote|reset|restore|rev-list|rev-parse|revert|rm|shortlog|show|stash|status|switch|tag|worktree)$/;
/** Matches Git commands whose arguments may be command lines to run now or later. */
const GIT_KEEPS = /^(?:clone|config|fetch|init|pull|push|rebase|remote|worktree)$/;
/** Options with which Git runs a program or reads names from elsewhere, reads untracked files, adds files, and prints changes. */
const GIT_RUNS = options(
  '--exec --upload-pack --receive-pack --open-files --ext-diff --textconv --pathspec-from --stdin --batch --output --template',
  /^-i?x|^-\w*O|^ext::|^-u.*\/$/,
);
const GIT_WALKS = options('--no-index --untracked', /^\b$/);
const GIT_ADDS = options('--all --include-untracked', /^(?:add|stage)$|^-[^-]*[au]/);
const GIT_SHOWS = options('--patch --verbose', /^-\w*[pv]/);
/** Matches Git commands that print nothing of what was added to Git before, unless an option says so. */
const GIT_QUIET = /^(?:add|stage|commit|push|pull|fetch|status)$/;
const GIT_SETS = /^(?:user|color|advice)\.|^(?:core\.quotepath|commit\.gpgsign|init\.defaultbranch)=/i;

/** Matches programs that print names, counts and dates of files, but not their content. */
const NAMES_ALONE = /^(?:wc|ls|echo|basename|dirname|stat|du)$/;

const text: Reader = () => ({});
const numbers: Reader = () => ({ takesNumbers: true });
const files: Reader = (words) =>
  words.some((word) => INDIRECT.test(word) || LISTS.test(word)) ? OPAQUE : {};
/** Returns a reader of a program that opens everything below a directory if it has a matching option. */
const recursive =
  (option: RegExp): Reader =>
  (words) => ({ ...files(words), walks: words.some((word) => option.test(word)) ? 'named' : undefined });

/** Reads a search whose directories follow the pattern. Values of options are not directories. */
const searching = (words: readonly string[], valued: RegExp): Understood => {
  const isValue = (at: number) => valued.test(words[at - 1] ?? '');
  const given = words.filter((word, at) => !word.startsWith('-') && !isValue(at));
  const hasPattern = words.some((word) => /^-[nilhHrRwvscoqxFEPI]*e$/.test(word));
  return { walks: 'here', places: hasPattern ? given : given.slice(1) };
};

/** Known programs by name. All others may run their arguments. */
const PROGRAMS = new Map<string, Reader>([
  ...each('true false : which pwd whoami uname basename dirname seq tr type', text),
  ...each('exit return sleep kill wait test [', (words) =>
    words.every((word) => isPlain(word) || /^(?:[!=<>\]]+|\$\w+)$/.test(word))
      ? { takesNumbers: true }
      : undefined,
  ),
  ...each('echo', numbers),
  ...each('printf', (words) => (words[0]?.startsWith('-') ? OPAQUE : { takesNumbers: true })),
  ...each(
    'cat head tail wc sort uniq cut nl tac rev fold cmp comm paste join ls stat file du date chmod touch mkdir rmdir rm tee' +
      ' column md5sum sha1sum sha256sum base64 od xxd strings cd pushd popd realpath readlink',
    files,
  ),
  ...each('grep egrep fgrep', (words) => ({
    ...files(words),
    ...(words.some((word) => /^-[^-]*[rRd]|^--(?:r|de|di)/.test(word))
      ? searching(words, /^-[^-]*[ABCDdefm]$|^--[^=]*$/)
      : {}),
  })),
  ...each('cp', recursive(/^-[^-]*[rRa]|^--(?:r|a)/)),
  ...each('mv ln diff', recursive(/^/)),
  // Some of their options name a program to run.
  ...each('zip rsync scp', (words) =>
    words.every((word) => isPlain(word) && !/^-[^-]*[eSTR@]|^--(?:rs|un|na|recurse-)/.test(word))
      ? recursive(/^/)(words)
      : OPAQUE,
  ),
  ...each('rg', (words) => ({
    ...(words.some((word) => INDIRECT.test(word)) ? OPAQUE : {}),
    ...searching(words, /^-[^-]*[ABCEMTdefgjmrt]$|^--[^=]*$/),
    skipsHidden: !words.some((word) =>
      /^-[^-]*[u.g]|^--(?:hid|no-ig|unres|i?glob|ignore-file|type-add)/.test(word),
    ),
  })),
  [
    'tar',
    (words) =>
      words.every((word, at) => TAR.test(word) || (at > 0 && !word.startsWith('-')))
        ? { walks: /^[a-zA-Z]*c|(?:^| )-[a-zA-Z]*c/.test(words.join(' ')) ? 'named' : undefined }
        : OPAQUE,
  ],
  ['jq', (words) => (words.some((word) => word.includes(';')) ? OPAQUE : {})],
  [
    'curl',
    (words) =>
      words.every((word, at) => CURL_TEXT.test(words[at - 1] ?? '') || CURL_PLAIN.test(word)) ? {} : OPAQUE,
  ],
  ['sed', (words) => scripted(words, SED, SED_OPTION)],
  ['awk', (words) => scripted(words, AWK, /^-F./)],
  ['git', git],
  ['find', find],
  ...each('xargs parallel', xargs),
]);

function each(names: string, reader: Reader): readonly (readonly [string, Reader])[] {
  return names.split(' ').map((name) => [name, reader]);
}

/** Returns the effects of the command whose name is the word at index `at`, or `undefined` for an unknown program. */
export function understood(words: readonly string[], at = 0): Understood | undefined {
  return PROGRAMS.get(words[at]?.replace(/^(?:\/usr)?\/bin\//, '').toLowerCase() ?? '')?.(
    words.slice(at + 1),
  );
}

export function isPlain(word: string): boolean {
  return PLAIN.test(word);
}

export function onlyPrints(code: string): boolean {
  return code.length <= MAX_SCRIPT && PRINTS.test(code);
}

/** Matches builtins that run code or change how the shell reads the following words. */
const BUILTIN =
  /^(?:eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|exec|coproc|logout|suspend)$/;
const DECLARES = /^(?:declare|typeset|local|readonly|export|integer)$/;

/** Tests if a command is a shell builtin that is not understood. */
export function isUnclearBuiltin([name = '', ...words]: readonly string[]): boolean {
  if (name === 'set')
    return !words.every((word) => /^[-+][eux]*o?$|^(?:pipefail|errexit|nounset)$/.test(word));
  if (name === 'command') return !/^-[vV]$/.test(words[0] ?? '');
  return BUILTIN.test(name) || (DECLARES.test(name) && words.some((word) => /^[-+]\w*[in]/.test(word)));
}

function scripted(words: readonly string[], script: RegExp, option: RegExp): Understood {
  const at = words.findIndex((word) => !option.test(word));
  const code = words[at] ?? '';
  const isKnown = code.length <= MAX_SCRIPT && script.test(code);
  return isKnown && words.slice(at).every((word) => !word.startsWith('-')) ? {} : OPAQUE;
}

function git(words: readonly string[]): Understood | undefined {
  const at = actionIn(words);
  const isSet = (word: string, index: number) => words[index - 1] === '-c' && !GIT_SETS.test(word);
  if (words.slice(0, at).some(isSet)) return OPAQUE;
  const [action = '', ...rest] = words.slice(at);
  const texts = rest.filter((_, index) => !/^(?:-\w*m|--message)$/.test(rest[index - 1] ?? ''));
  if (texts.some(GIT_RUNS)) return OPAQUE;
  if (!GIT.test(action) || (GIT_KEEPS.test(action) && !rest.every(isPlain))) return undefined;
  return {
    walks: rest.some(GIT_WALKS) ? 'here' : undefined,
    takesNumbers: true,
  };
}

/** Returns the index of the command in the words after `git`. */
function actionIn(words: readonly string[]): number {
  const at = words.findIndex(
    (word, index) => !word.startsWith('-') && !/^-[cC]$/.test(words[index - 1] ?? ''),
  );
  return at < 0 ? words.length : at;
}

/** Tests if commands add files to Git without naming each of them, and print what was added. */
export function showsAdded(commands: readonly (readonly string[])[]): boolean {
  const given = commands.flatMap((words) => {
    const at = words.findIndex((word) => /(?:^|\/)git$/i.test(word)) + 1;
    const own = words.slice(at);
    return at > 0 ? [own.slice(actionIn(own))] : [];
  });
  return (
    given.some((words) => /^(?:add|stage|stash)$/.test(words[0] ?? '') && words.some(GIT_ADDS)) &&
    given.some(([action = '', ...rest]) => !GIT_QUIET.test(action) || rest.some(GIT_SHOWS))
  );
}

/** Returns a test for long options, which may be abbreviated or have a value, and for short ones. */
function options(long: string, short: RegExp): (word: string) => boolean {
  const names = long.split(' ');
  return (word) => {
    const [given = ''] = word.split('=', 1);
    const isLong =
      /^--./.test(given) && names.some((name) => name.startsWith(given) || given.startsWith(name));
    return isLong || short.test(word);
  };
}

/** Reads `find`. The program that it runs must be understood as well, because it may receive any file below. */
function find(words: readonly string[]): Understood {
  const at = words.findIndex((word) => /^-(?:exec|ok|delete|fprint|fls|files0)/.test(word));
  if (at < 0) return {};
  const begin = words.findIndex((word) => /^[-(!]/.test(word) && !/^-(?:[HLP]$|[DO])/.test(word));
  const below: Understood = { walks: 'here', places: words.slice(0, begin), name: nameWanted(words) };
  if (words[at] === '-delete' && at === words.length - 1) return below;
  const end = words.findIndex((word, index) => index > at && /^[;+]$/.test(word));
  const run = words.slice(at + 1, end);
  const isWhole = run.every((word) => word === '{}' || !word.includes('{}'));
  const inner = understood(run);
  if (
    words[at] !== '-exec' ||
    end !== words.length - 1 ||
    !isWhole ||
    !inner ||
    inner.isOpaque ||
    inner.walks
  )
    return OPAQUE;
  return { ...(NAMES_ALONE.test(run[0] ?? '') ? {} : below), runs: true };
}

/** Returns the name pattern that all files found by `find` match, if there is one. */
function nameWanted(words: readonly string[]): string | undefined {
  const at = words.indexOf('-name') + 1;
  const isEither =
    words.some((word) => /^(?:-o|-or|,|\()$/.test(word)) || /^(?:!|-not)$/.test(words[at - 2] ?? '');
  return at > 0 && !isEither && !/[[\\]/.test(words[at] ?? '') ? words[at] : undefined;
}

/** Reads `xargs`. Its input may be any file name, so only programs that do not print file content are understood. */
function xargs(words: readonly string[]): Understood {
  const at = words.findIndex((word) => !/^-(?:I\{\}|n\d+|P\d+|[0r])$/.test(word));
  const [run = 'echo', ...rest] = at < 0 ? [] : words.slice(at);
  const isKnown = NAMES_ALONE.test(run) && rest.every((word) => /^(?:-\w|\{\})$/.test(word));
  return isKnown ? { runs: true, takesNames: /^(?:wc|du)$/.test(run) } : OPAQUE;
}

/** Tests if a command prints only file names, so that no output line can be an option of the next program. */
export function printsNames([program = '', ...words]: readonly string[]): boolean {
  if (words.some((word) => /^-printf$|^--(?:format|label)/.test(word))) return false;
  if (program === 'git') return words[0] === 'ls-files' || words.includes('--name-only');
  return /^(?:find|ls)$/.test(program) || words.some((word) => /^-[a-z]*l$|^--files/.test(word));
}
