/** What a program does with its words, beside opening the files that they name. */
export interface Understood {
  /** It opens all files below the directories among its words; with `here`, without any, below the one in which it runs. */
  readonly walks?: 'named' | 'here' | undefined;
  /** The words that may be such directories. Default: all. */
  readonly places?: readonly string[] | undefined;
  /** Of those only files with a name that fits this. */
  readonly name?: string | undefined;
  readonly skipsHidden?: boolean;
  /** It prints what Git was given before. */
  readonly showsStaged?: boolean;
  /** It runs a program that is understood. */
  readonly runs?: boolean;
  /** What it is fed have to be names: an option among them could print a file. */
  readonly takesNames?: boolean;
  /** It may run any program, or open files that no word names. */
  readonly isOpaque?: boolean;
  /** Its words may be numbers that a shell knows, such as `$?`. */
  readonly takesNumbers?: boolean;
}

type Reader = (words: readonly string[]) => Understood | undefined;

const OPAQUE: Understood = { isOpaque: true };

/** Options with which a program runs another, or takes names from a file. */
const INDIRECT = /-from\b|^--(?:co(?:m|=|$)|pre(?:-glob)?\b|hostname-bin)/;
/** `--files0-from` and what stands for it. */
const LISTS = /^--f(?:i|il|ile|iles|iles0.*)?(?:=|$)/;
/** A word that is a name, an option, an address or a number, and no text that a program could read as a line or as code. */
const PLAIN = /^[\w./:@%+,=~^-]*$/;
/**
 * Code that only prints, as Python or JavaScript; for a shell it is a syntax error. Bounded because no letter of `sys.version` stands
 * alone, and longer code is not read.
 */
const PRINTS =
  /^(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;

const ADDRESS = String.raw`(?:\d+|\$|/(?:[^\\/\n]|\\.)*/)`;
const SED = new RegExp(
  String.raw`^(?:(?:(?:${ADDRESS}(?:,${ADDRESS})?)?[pdq]|s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)(?:[; ]+|$))*$`,
);
const SED_OPTION = /^-(?:[nEru]+|n?i(?:\.\w+)?)$/;
/** Bounded because longer scripts are not read. */
const AWK =
  /^(?:\/[^/\\]*\/ *|N[RF] *[=<>!]=? *\d+ *)?(?:\{ *print(?:[ ,]+(?:\$(?:\d+|NF)|N[RF]|"[^"\\]*"))* *;? *\})?$|^1$/;
const MAX_SCRIPT = 1_000;

const TAR = /^-?[cxtzjJvpkOf]+$|^-C|^--(?:exclude|directory|strip-components)(?:=|$)|^--one-file-system$/;
const CURL_TEXT = /^(?:-[HdXAu]|--(?:header|data|data-raw|request|user-agent|user))$/;
const CURL_PLAIN = /^(?!-K|--conf|-[a-zA-Z]*K)[\w./:@+,=~-]*$|^https?:\/\/[\w./:@?&=#+,~-]*$/;

const GIT =
  /^(?:add|blame|branch|checkout|cherry-pick|clean|clone|commit|config|describe|diff|fetch|for-each-ref|grep|init|log|ls-files|ls-tree|merge|merge-base|mv|pull|push|rebase|reflog|remote|reset|restore|rev-list|rev-parse|revert|rm|shortlog|show|stash|status|switch|tag|worktree)$/;
/** What it does with words that may be lines to run, now or later. */
const GIT_KEEPS = /^(?:clone|config|fetch|init|pull|push|rebase|remote|worktree)$/;
/** Options with which Git runs a program or takes names from elsewhere. */
const GIT_RUNS =
  /^(?:--(?:exec|upload-p|receive-p|open-f|ext-d|textc|pathspec-f|stdin|batch|output|template)|-i?x.*|-\w*O.*|ext::.*)|^-u.*\/$/;
/** Options with which it reads files that it was not given before, or is given them. */
const GIT_WALKS = /^--(?:no-i|untr)/;
const GIT_TAKES = /^(?:add$|-[^-]*[au]|--(?:all|inc))/;
const GIT_SETS = /^(?:user|color|advice)\.|^(?:core\.quotepath|commit\.gpgsign|init\.defaultbranch)=/i;

/** Programs that print names, counts and dates of files, and none of what these hold. */
const NAMES_ALONE = /^(?:wc|ls|echo|basename|dirname|stat|du)$/;

const text: Reader = () => ({});
const numbers: Reader = () => ({ takesNumbers: true });
const files: Reader = (words) =>
  words.some((word) => INDIRECT.test(word) || LISTS.test(word)) ? OPAQUE : {};
/** Opens what is below directories with such an option. */
const recursive =
  (option: RegExp): Reader =>
  (words) => ({ ...files(words), walks: words.some((word) => option.test(word)) ? 'named' : undefined });

/** Searches below the directories behind the pattern. What may be the value of an option is none of them. */
const searching = (words: readonly string[], valued: RegExp): Understood => {
  const isValue = (at: number) => valued.test(words[at - 1] ?? '');
  const given = words.filter((word, at) => !word.startsWith('-') && !isValue(at));
  const hasPattern = words.some((word) => /^-[nilhHrRwvscoqxFEPI]*e$/.test(word));
  return { walks: 'here', places: hasPattern ? given : given.slice(1) };
};

/** Programs whose words are understood, by name. All others are taken to run what their words may be. */
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
        ? { walks: /^-?[a-zA-Z]*c/.test(words[0] ?? '') ? 'named' : undefined }
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

/** What is known of a command whose name is the word at this index; `undefined` for programs that are not understood. */
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

/** What a shell does itself, and what changes how it reads the words behind. */
const BUILTIN =
  /^(?:eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|exec|coproc|logout|suspend)$/;
const DECLARES = /^(?:declare|typeset|local|readonly|export|integer)$/;

/** Whether a command is one of the shell's own that is not understood. */
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
  let at = 0;
  for (; words[at]?.startsWith('-'); at++) {
    if (words[at] === '-c' && !GIT_SETS.test(words[at + 1] ?? '')) return OPAQUE;
    if (/^-[cC]$/.test(words[at] ?? '')) at++;
  }
  const [action = '', ...rest] = words.slice(at);
  const texts = rest.filter((_, index) => !/^(?:-\w*m|--message)$/.test(rest[index - 1] ?? ''));
  if (texts.some((word) => GIT_RUNS.test(word))) return OPAQUE;
  if (!GIT.test(action) || (GIT_KEEPS.test(action) && !rest.every(isPlain))) return undefined;
  return {
    walks: rest.some((word) => GIT_WALKS.test(word)) ? 'here' : undefined,
    showsStaged: /^(?:diff|show|grep|stash|log)$/.test(action),
    takesNumbers: true,
  };
}

/** Whether a command gives Git files that nobody names. */
export function isStaging([program, ...words]: readonly string[]): boolean {
  const isAction = words.includes('add') || words.includes('stash');
  return program === 'git' && isAction && words.some((word) => GIT_TAKES.test(word));
}

/** What `find` runs has to be understood, too: it is given any file below. */
function find(words: readonly string[]): Understood {
  const at = words.findIndex((word) => /^-(?:exec|ok|delete|fprint|fls|files0)/.test(word));
  if (at < 0) return {};
  const below: Understood = { walks: 'here', name: nameWanted(words) };
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

/** The pattern that all files have to fit which `find` finds. */
function nameWanted(words: readonly string[]): string | undefined {
  const at = words.indexOf('-name') + 1;
  const isEither =
    words.some((word) => /^(?:-o|-or|,|\()$/.test(word)) || /^(?:!|-not)$/.test(words[at - 2] ?? '');
  return at > 0 && !isEither && !/[[\\]/.test(words[at] ?? '') ? words[at] : undefined;
}

/** Whatever comes in may be a name: only what tells nothing of a file's text is understood. */
function xargs(words: readonly string[]): Understood {
  const at = words.findIndex((word) => !/^-(?:I\{\}|n\d+|P\d+|[0r])$/.test(word));
  const [run = 'echo', ...rest] = at < 0 ? [] : words.slice(at);
  const isKnown = NAMES_ALONE.test(run) && rest.every((word) => /^(?:-\w|\{\})$/.test(word));
  return isKnown ? { runs: true, takesNames: /^(?:wc|du)$/.test(run) } : OPAQUE;
}

/** Whether a command prints names of files alone, so that none can be an option of the program that is given them. */
export function printsNames([program = '', ...words]: readonly string[]): boolean {
  if (words.some((word) => /^-printf$|^--(?:format|label)/.test(word))) return false;
  if (program === 'git') return words[0] === 'ls-files' || words.includes('--name-only');
  return /^(?:find|ls)$/.test(program) || words.some((word) => /^-[a-z]*l$|^--files/.test(word));
}
