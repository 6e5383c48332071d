/** What a command does beyond opening the files that its words name. */
export interface Effect {
  /** Runs none of its words, which are options, texts and files. */
  readonly isKnown?: boolean;
  /** Prints no content of files. Its words may be numbers that only the shell knows, such as `$?`. */
  readonly isText?: boolean;
  /** `files`: may open files that no word names. `options`: an option may run a program. `anything`: may run any. */
  readonly doubt?: 'files' | 'options' | 'anything';
  /** Opens all files below these words, or without any such file all below the working directory if `orHere` is set. */
  readonly below?: readonly string[];
  readonly orHere?: boolean;
  /** Opens only files with a name like this. */
  readonly name?: string | undefined;
  /** `runs`: code of files. `writes`: files that its words may name. `changes`: files that no word names. */
  readonly does?: 'runs' | 'writes' | 'changes';
  /** Adds files to Git without printing them, or prints what was added. */
  readonly git?: 'adds' | 'shows';
}

type Reader = (words: readonly string[], found: RegExpExecArray) => Effect;

/** Writes no code: only prints, or formats, what its words name. */
const READS: Effect = { isKnown: true };
const KNOWN: Effect = { isKnown: true, does: 'writes' };
const TEXT: Effect = { isKnown: true, isText: true };
/** Runs code of the project, which no rule can judge. */
const RUNS: Effect = { does: 'runs' };
export const OPAQUE: Effect = { doubt: 'anything' };
const walk: Reader = (words) => ({ ...KNOWN, below: words });
/** Matches options of a search that surely take no other word, and those whose value is the next word. */
const SEARCH_OPTION = /\n(?:-[nrRilHhwvscoqxFEPIaSN\d]+|-[ABCm]\n?\d+|--[\w-]+=.*|-e\n.*)(?=\n|$)/g;
/** Reads a recursive search. Behind any other option, every word may be a directory or the search may start here. */
const search: Reader = (given, { input }) => {
  const words = input.replaceAll(SEARCH_OPTION, '').split('\n').slice(1);
  if (words.some((word) => word.startsWith('-'))) return { ...READS, doubt: 'files', below: words };
  const places = given.includes('-e') ? words : words.slice(1);
  return { ...READS, below: places.length > 0 ? places : ['.'] };
};

/** Long options with which no program of the table opens other files or runs a program. */
const LONG =
  'abbrev-commit|abbrev-ref|after|all|amend|arg|author|before|branches|bytes|cached|check|color|context|count|data|decorate|delete|depth|diff-filter|directory|dry-run|exclude|exclude-dir|fail|ff-only|find-renames|first-parent|follow|force-with-lease|format|graph|hard|head|header|heads|human-readable|ignore-case|include|line-number|lines|list|location|max-count|max-depth|max-time|merged|message|name-only|name-status|no-color|no-edit|no-ff|no-merges|no-pager|no-verify|null|numeric-sort|numstat|oneline|onto|porcelain|pretty|prune|quiet|raw-output|rebase|reflog|remote|request|reverse|set-upstream|short|shortstat|show-current|show-toplevel|silent|since|soft|sort|staged|stat|strip-components|summary|tags|type|unified|unique|until|verify|version|width|word|word-diff|write';
/** Returns a pattern for arguments with these short options and the long ones above. */
const words = (short: string) =>
  String.raw`(?:\n(?:-(?:${short})?|--(?:(?:${LONG})(?:=.*)?)?|(?!-).*|- .*))*`;
const FILES = words('(?!-).+');
const ADDRESS = String.raw`(?:\d+|\$|/[^\\/\n]*/)`;
const SUBSTITUTE = String.raw`s([/|#,])(?:(?!\1)[^\\\n]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*`;
const SED = String.raw`(?:\n-(?:[nEr]+|n?i))*\n(?:(?:(?:${ADDRESS}(?:,${ADDRESS})?)?[pdq]|${SUBSTITUTE})(?:; *|(?=\n|$)))+(?:\n[^-\n].*)*`;
const AWK = String.raw`(?:\n-F.+)?\n(?:NR *[=<>!]=? *\d+ *)?(?:\{ *print(?:[ ,]+\$(?:\d+|NF))* *\})?(?:\n[^-=\n][^=\n]*)*`;
const CURL = String.raw`(?:\n-(?:[HXAuowd]|-data|-header|-request|-max-time)\n.*|\n-[sSfLiIvk]+|\n(?:https?://)?[\w.:/@?&=#+,~][\w./:@?&=#+,~-]*)*`;
const TESTS = String.raw`name|iname|path|type|not|o|a|maxdepth|mindepth|newer|mtime|mmin|size|empty|print0?|prune|\d\w*`;
const TEST = String.raw`(?:\n-type\n\w|\n-not\n-path\n.+|\n-maxdepth\n\d+)*`;
const EACH = String.raw`((?:\n[^-(!\n].*)*)${TEST}\n-name\n([^[\\\n]*)${TEST}\n-exec\n(?:cat|head|tail|wc|grep)(?:\n-[ncilhoqwEFH\d]+)*(?:\n[^-\n].*)?\n\{\}\n[;+]`;
const GIT = String.raw`(?:\n-C\n.*|\n-c\n(?:user|color)\..*|\n--no-pager)*\n`;
/** Git commands that change files of the working tree. */
const CHANGES = 'checkout|cherry-pick|clean|merge|pull|rebase|reset|restore|revert|rm|stash|switch|worktree';
/** Git commands that print nothing of what was added before. */
const QUIET =
  'branch|commit|describe|for-each-ref|ls-files|ls-tree|merge-base|reflog|rev-list|rev-parse|status|tag';
const QUIET_OPTIONS = words(String.raw`[abcdefhilmnoqrstuwzABCDFMS]*\d*`);
const GIT_CHANGES = `${GIT}(?:${CHANGES})(?![^]*::)${QUIET_OPTIONS}`;
const GIT_QUIET = `${GIT}(?:${QUIET})${QUIET_OPTIONS}`;
const GIT_SHOWS = `${GIT}(?:blame|grep|log|shortlog|show|${QUIET})${words(String.raw`[abcdefhilmnpqrstuvwzABCDEFGHLMNPSU]*\d*%?`)}`;
const GIT_DIFF = `${GIT}diff${words(String.raw`[abmpqsuvwzBCDGMRSU]*\d*%?`)}`;
const PLAIN = String.raw`[\w./:@%+,=~^-]`;
/** Words that no program could interpret as code. Only the title of a test may have blanks. */
const RUN = String.raw`(?![^]*/(?:dev/(?:stdin|fd)|proc/))(?:\n${PLAIN}*(?: (?<=\n(?:-[tkg]|--grep|--testNamePattern)\n${PLAIN}* )[ ${PLAIN.slice(1)}*)?)*`;
const NPM = String.raw`(?=\n(?:t|test|run|start|build|check|lint|ci|i|install|add|fmt|vet|ls|audit)(?=\n|$)(?:\n(?:[^-\n].*|-[Dsv]|--(?:if-present|release|save-dev|silent)))*(?:\n--\n|$))${RUN}`;
const MAKE = String.raw`(?=(?:\n(?:-[BCfjkns]\d*|[^-=\n][^=\n]*))*$)${RUN}`;
const NODE = String.raw`(?=(?:\n--(?:test|watch|check))*\n(?:[^-]|--test$|--version$))${RUN}`;
const PYTHON = String.raw`(?=\n(?:[^-]|-$|--version$|-m\n(?:pytest|unittest|mypy|pip|venv)(?:\n|$)))${RUN}`;
const DOCKER = String.raw`(?=\n(?:ps|images|logs|pull|stop|run(?:\n--rm|\n-d|\n-it|\n-p\n[\d.:]+|\n--name\n\w+)*\n\w))${RUN}`;
/**
 * Matches Python or JavaScript code that only prints; as shell code it is a syntax error.
 * Bounded because no single letter of `sys.version` is a word and longer code is not matched.
 */
const PRINTS =
  /(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;

/**
 * The programs that are surely harmless with arguments like these, each after a line break. The first row that fits
 * decides. Without one, rules about files ask.
 */
const ROWS: readonly (readonly [names: string, pattern: string, effect: Effect | Reader])[] = [
  ['true false : echo pwd ls stat mkdir rmdir touch which type whoami uname', '[^]*', TEXT],
  ['chmod', String.raw`(?:\n(?!-\w*R|--).*)*`, TEXT],
  ['rm', '[^]*', (given) => ({ ...TEXT, below: given })],
  ['basename dirname realpath readlink seq tr', '[^]*', TEXT],
  ['printf', '\n[^-][^]*', TEXT],
  ['exit return sleep kill wait test [', String.raw`(?:\n(?:[\w./:@%+,=~^!<>\]-]|\$[\w?!#]?)+)*`, TEXT],
  ['set', String.raw`(?:\n[-+][eux]*o?|\npipefail|\nerrexit|\nnounset)*`, TEXT],
  ['command', String.raw`\n-[vV]\n.*`, TEXT],
  ['declare typeset local readonly export', String.raw`(?:\n-[aAgrx]+)*(?:\n\w+(?:=${PLAIN}*)?)*`, TEXT],
  ['cd pushd', '\n[^-\n].*', TEXT],
  ['cat head tail wc cut nl tac rev fold cmp comm paste join column base64 od du', FILES, READS],
  ['uniq sort tee xxd', FILES, KNOWN],
  ['md5sum sha1sum sha256sum', String.raw`(?:\n(?:-[bt]|[^-\n].*))*`, READS],
  ['date', String.raw`(?:\n(?:-[uR]|-I\w*|-d\n.*|\+.*))*`, READS],
  ['jq', `(?![^]*;)${words('[acejnrsCMS]+')}`, READS],
  ['grep', words('[^-rRd\n][^rRd\n]*'), READS],
  ['grep', words(String.raw`[nrRilHhwvscoqxFEPIaABCem\d]+`), search],
  ['rg', words(String.raw`[nilHwvscoqxFSPNaABCemt\d]+`), search],
  ['cp', words('[^-rRad\n][^rRad\n]*'), KNOWN],
  ['cp diff mv ln', FILES, walk],
  ['prettier biome', `(?![^]*[*?[{!])${FILES}`, (given) => ({ ...READS, below: given, orHere: true })],
  ['tar', String.raw`\n-?x[zjJv]*f?${words('C')}`, (given) => ({ ...READS, below: given, does: 'changes' })],
  ['tar', String.raw`\n-?[ct][zjJv]*f?${words('C')}`, walk],
  ['sed', String.raw`(?![^]*\n-n?i\n)${SED}`, READS],
  ['sed', SED, KNOWN],
  ['awk', AWK, READS],
  ['curl', CURL, KNOWN],
  ['git', `${GIT}(?:add|stage)${words('[aANfqum]*')}`, { ...TEXT, git: 'adds' }],
  ['git', GIT_DIFF, (given) => ({ ...READS, git: 'shows', below: given })],
  ['git', `${GIT}(?:fetch|push)(?![^]*::)${words('[adfnqtu]+')}`, TEXT],
  ['git', GIT_CHANGES, { ...TEXT, does: 'changes' }],
  ['git', GIT_QUIET, TEXT],
  ['git', GIT_SHOWS, { ...READS, git: 'shows' }],
  ['find', String.raw`(?:\n[^-\n].*|\n-(?:${TESTS}))*`, TEXT],
  [
    'find',
    EACH,
    (_, [, at = '', name]) => ({ ...READS, below: at.split('\n').slice(1), orHere: true, name }),
  ],
  ['xargs', String.raw`\n-0(?:\n-r|\n-n\d+)*\nwc(?:\n-[clwmL]+)*`, TEXT],
  ['/ vitest tsc eslint jest mocha pytest ruff mypy tsx', RUN, RUNS],
  ['make', MAKE, RUNS],
  ['npm pnpm yarn cargo', NPM, RUNS],
  ['go', `(?![^]*\n--)${NPM}`, RUNS],
  ['node', NODE, RUNS],
  ['python python3', PYTHON, RUNS],
  ['node python python3', String.raw`\n-[ec]\n${PRINTS.source}`, RUNS],
  ['sh bash dash', String.raw`(?=\n[^-])${RUN}`, RUNS],
  ['docker', DOCKER, RUNS],
];
/** Matches programs that run the words after their own, and the words that may precede those. */
const WRAPPER = /^(?:env|timeout|nice|nohup|npx)$/;
const WRAPPED = /^(?:-[ny]|--yes|\d+s?)$/;
/** Matches variables that no program takes for options or names of programs. */
export const HARMLESS_VARIABLE =
  /^(?:(?!.*(?:path|config))[a-z][a-z\d_]*|CI|DEBUG|FORCE_COLOR|LANG|LC_ALL|NODE_ENV|NO_COLOR|PORT|TZ)(?==|$)/;

/** Matches builtins that run code or change how the shell reads the following words. */
const BUILTIN =
  /^(?:eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|command|exec|coproc|logout|suspend|integer|set|declare|typeset|local|readonly|export|printf|exit|return|wait|test|\[)$/;
/** Matches programs with options that run another program. */
const HAS_OPTIONS = /^(?:awk|curl|find|git|rg|sed|sort|tar|xargs)$/;
/** Matches a word that cannot be a command line or code: plain text, a glob, a template. */
const NO_CODE = /^(?:[\w ./:@%+,=~^-]*|[^\s'"\\;&|<>()$!`]*|\$)$/;

/** Returns the effect of a command by its words. A word that only the shell knows is `$`. */
export function effectOf([first = '', ...given]: readonly string[]): Effect {
  const name = first.replace(/^(?:(?:\/usr)?\/bin|(?:\.\/)?node_modules\/\.bin)\//, '');
  if (WRAPPER.test(name)) {
    const at = given.findIndex(
      (word) => !WRAPPED.test(word) && !(word.includes('=') && HARMLESS_VARIABLE.test(word)),
    );
    return { ...effectOf(at < 0 ? [] : given.slice(at)), isKnown: false };
  }
  const isScript = name.includes('/') && !/^\/|\.\./.test(name);
  const line = given.map((word) => `\n${word.replaceAll('\n', ' ')}`).join('');
  for (const [names, pattern, effect] of ROWS) {
    const isRow = names.split(' ').includes(isScript ? '/' : name);
    const found = isRow ? new RegExp(`^${pattern}$`).exec(line) : null;
    if (found !== null) return typeof effect === 'function' ? effect(given, found) : effect;
  }
  if (BUILTIN.test(name) || !given.every((word) => NO_CODE.test(word))) return OPAQUE;
  return { doubt: HAS_OPTIONS.test(name) ? 'options' : 'files' };
}

export function onlyPrints(code: string): boolean {
  return code.length <= 1_000 && PRINTS.exec(code)?.index === 0;
}
