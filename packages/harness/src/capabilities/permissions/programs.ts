import { many, maybe, one, pattern, some } from './word-pattern.js';

/** What a command does beyond opening the files that its words name. */
export interface Effect {
  /** Runs none of its words, which are options, texts and files. */
  readonly isKnown?: boolean;
  /** Prints no content of files, and writes none. */
  readonly isText?: boolean;
  /** `files`: the program is not in the table. `options`: its words are not. `anything`: it may run any program. */
  readonly doubt?: 'files' | 'options' | 'anything';
  /** Opens all files below these words, or only those with a name like `name`. */
  readonly below?: readonly string[] | undefined;
  readonly name?: string;
  /** A shell looks for this file in `PATH` if it is not in the working directory. */
  readonly script?: string;
  /** Copies the files in `below` to this file or directory. */
  readonly into?: string;
  /** `runs`: code of files. `makes`: empty files. `writes`: files that its words name. `changes`: files that no word names. */
  readonly does?: 'runs' | 'makes' | 'writes' | 'changes';
  /** Adds files to Git without printing them, or prints or sends what was added. */
  readonly git?: 'adds' | 'shows';
}

const TEXT: Effect = { isKnown: true, isText: true };
const READS: Effect = { isKnown: true };
const WRITES: Effect = { isKnown: true, does: 'writes' };
const CHANGES: Effect = { isKnown: true, does: 'changes' };
/** Runs code of the project, which no rule can judge. */
const RUNS: Effect = { does: 'runs' };
/** Git runs hooks, and programs that its configuration names. */
const GIT: Effect = { isKnown: true, does: 'runs' };
export const OPAQUE: Effect = { doubt: 'anything' };

/** Runs a file of the project, with words that may be files. */
const SCRIPT: Effect = { ...RUNS, below: [] };
const ADDS: Effect = { ...GIT, git: 'adds' };
const SHOWS: Effect = { ...GIT, git: 'shows' };

const FILE = /^[^-]/;
const COUNT = /^\d+$/;
const LINE = /^[^-\n].*$/;
const WALKED = /^(?<below>[^-\n].*)$/;
const FOLDERS = some(WALKED);
const PLAIN = /^(?<below>[\w./:@%+,=~^-]*)$/;
const FILTER = /^[\w.][\w./:@%+,=~^-]*$/;
const RUN = /^(?<below>[\w.][\w./:@%+,=~^-]*)$/;
const PATH = /^(?:\.\/)?\w[\w.-]*(?:\/\w[\w.-]*)*$/;
const NEW = /^\w[\w./-]*$/;
/** The titles of tests may have blanks. */
const TITLE = [/^(?:-[kt]|--grep)$/, /^\w[\w .+]*$/];
const RUNNER = one(['vitest', 'run'], 'tsc', 'eslint', 'jest');
const PROJECT = /^(?:build|check|ci|run|start|test)$/;
const SHORT = /^-(?:[chlnrsuw]+|n?\d+|t.|k[\d.,nr]+)$/;
const search = (flags: RegExp) => many(flags, /^-[ABCm]\d+$/, [/^-[ABCm]$/, COUNT]);
const GREP = search(/^-[EFHIPachilnoqrsvwx]+$/);
const RG = search(/^-[FHIPacilnoqsvwx]+$/);
const PATTERN = one(['-e', /^.*$/], LINE);
const SED =
  /^(?:(?:(?:(?:\d+|\$)(?:,(?:\d+|\$))?)?[pdq]|s([/|#,])(?:(?!\1)[^\\\n[]|\[[^\]/|#,\\\n]+\]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)(?:; *|$))+$/;
const JQ = /^(?:keys|length|\.\w*)(?:\.\w*|\[\d*\])*(?: *\| *(?:keys|length|\.\w*)(?:\.\w*|\[\d*\])*)*$/;
const URL = /^(?:https?:\/\/)?\w[\w.-]*(?::\d+)?(?:\/[\w./?&=+,~-]*)?$/;
const TESTS = many(['-type', /^\w$/], ['-not', '-path', /^.+$/], ['-maxdepth', COUNT]);
const PLACES = some(/^(?<below>[^-(!\n].*)$/);
const NAME = ['-name', /^(?<name>[^[\\\n]*)$/];
const EACH = one('cat', ['grep', LINE], ['grep', /^-[ln]+$/, LINE]);
const COMMIT = many([/^-[aq]*m$/, /^/], /^-[aq]+$/, ['-F', '-'], '--amend', '--no-edit');
const SHOWN = /^-(?:\d+|[np]|-|-(?:cached|name-only|oneline|staged|stat|format=.*))$/;
/**
 * Matches Python or JavaScript code that only prints; as shell code it is a syntax error.
 * Bounded because no single letter of `sys.version` is a word and longer code is not matched.
 */
export const PRINTS =
  /^(?![\s\S]{1000})(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;
const CODE = [/^-[ec]$/, PRINTS];

/** Matches scripts of the project by path. Programs in hidden folders, such as `node_modules/.bin`, are not scripts. */
const SCRIPT_PATH = /^(?:\.\/\w[\w.-]*|\w[\w.-]*(?=\/))(?:\/\w[\w.-]*)*$/;

/** All that is known of programs. The first row that fits decides. Beside rules about files, every other command asks. */
const ROWS: readonly (readonly [names: string, match: ReturnType<typeof pattern>, effect: Effect])[] = [
  ['true false : echo pwd ls which', pattern(many(/^/)), TEXT],
  ['exit kill sleep test [', pattern(many(/^[\w./:@%+,=~^!<>$?#\]-]+$/)), TEXT],
  ['declare export', pattern(maybe(/^-[ax]$/), many(/^\w+(?:=[\w./:@%+,=~^-]*)?$/)), TEXT],
  ['cd', pattern(LINE), TEXT],
  ['mkdir touch', pattern(maybe('-p'), many(FILE)), { ...TEXT, does: 'makes' }],
  ['chmod', pattern('+x', many(FILE)), { ...TEXT, does: 'makes' }],
  ['cat head tail wc du sort', pattern(many(SHORT, ['-n', COUNT]), many(FILE)), READS],
  ['date uniq', pattern(many(/^-[cdu]+$/)), READS],
  ['diff', pattern(maybe('-u'), FOLDERS), READS],
  ['grep', pattern(search(/^-[EFHIPachilnoqsvwx]+$/), PATTERN), READS],
  ['grep', pattern(GREP, PATTERN, GREP, FOLDERS), READS],
  ['rg', pattern(RG, PATTERN, RG, FOLDERS), READS],
  ['sed', pattern(many('-n', '-E'), SED, many(FILE)), READS],
  ['sed', pattern('-i', SED, many(FILE)), WRITES],
  ['awk', pattern(/^\{ *print(?: \$\d+)* *\}$/, many(/^[^-=][^=]*$/)), READS],
  ['jq', pattern(maybe('-r'), JQ, many(FILE)), READS],
  ['curl', pattern(many([/^-[Hd]$/, /^/], /^-[sSfLi]+$/, URL)), READS],
  ['tee', pattern(many(FILE)), WRITES],
  ['cp', pattern(FOLDERS, /^(?<into>(?<below>[^-\n].*))$/), WRITES],
  ['cp mv', pattern(maybe('-r'), FOLDERS), CHANGES],
  ['tar', pattern(/^-?cz?f$/, PATH, many(/^--exclude=.+$/), FOLDERS), WRITES],
  ['find', pattern(many(FILE), many([/^-(?:maxdepth|name|path|type)$/, /./], '-not', '-print0')), TEXT],
  ['find', pattern(PLACES, TESTS, ...NAME, TESTS, '-exec', EACH, '{}', /^[;+]$/), READS],
  ['xargs', pattern('-0', 'wc', /^-[clw]+$/), READS],
  ['git', pattern('add', some('-A', '-u', FILE)), ADDS],
  ['git', pattern(maybe(['-c', /^user\.(?:name|email)=/]), 'commit', COMMIT), ADDS],
  ['git', pattern(/^(?:for-each-ref|grep|log|show)$/, many(SHOWN, FILE)), SHOWS],
  ['git', pattern('diff', many(SHOWN, WALKED)), { ...SHOWS, below: [] }],
  ['git', pattern('rev-parse', maybe(/^--[a-z-]+$/), maybe('HEAD')), GIT],
  ['git', pattern('push', maybe('-u'), many(/^\w[\w./-]*(?::[\w./-]+)?$/)), SHOWS],
  ['git', pattern(one('branch', 'fetch', 'status', ['status', '--short'], ['checkout', '-b', NEW])), GIT],
  ['git', pattern(one(['rebase', NEW], ['stash', 'pop'], ['stash', 'pop', /^[\w@{}]+$/])), CHANGES],
  ['npx', pattern(RUNNER, many(TITLE, '--noEmit', '--fix', '-p', FILTER)), RUNS],
  ['npx', pattern('biome', 'check', maybe('--write'), FOLDERS), RUNS],
  ['pytest', pattern(many(TITLE, /^-[qvx]+$/, RUN)), RUNS],
  ['node python python3', pattern(one('-', '--test', '--version', ['-m', 'pytest'], CODE), many(RUN)), RUNS],
  ['node python python3', pattern(PATH, many(PLAIN)), SCRIPT],
  ['sh bash', pattern(one(/^(?<script>\w[\w.-]*)$/, SCRIPT_PATH), many(PLAIN)), SCRIPT],
  ['/', pattern(many(PLAIN)), SCRIPT],
  ['npm pnpm yarn cargo', pattern(PROJECT, many(RUN)), RUNS],
  ['npm pnpm yarn cargo', pattern(PROJECT, many(RUN), '--', many(TITLE, PLAIN)), RUNS],
  ['go', pattern(/^(?:build|test)$/, many(/^[\w.][\w./]*$/)), RUNS],
  ['make', pattern(many(/^(?:-j\d*|(?<below>\w[\w./-]*))$/)), RUNS],
  ['docker', pattern('ps'), RUNS],
  ['docker', pattern('run', many('--rm', '-d', ['-p', /^[\d.:]+$/]), /^\w[\w./:-]*$/), RUNS],
];
/** Matches builtins that run code or change how the shell reads the following words. */
const BUILTIN =
  /^(?:eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|command|exec|coproc|logout|suspend|integer|set|declare|typeset|local|readonly|export|printf|exit|return|wait|test|\[)$/;
/** Matches a word that cannot be a command line or code: plain text, a glob, a template. */
const NO_CODE = /^(?:[\w ./:@%+,=~^-]*|[^\s'"\\;&|<>()$!`]*|\$)$/;

/** Returns the effect of a command by its words. A word that only the shell knows is `$`. */
export function effectOf([name = '', ...given]: readonly string[]): Effect {
  if (name === 'env' || name === 'timeout') {
    const [before, most] = name === 'env' ? [/^NODE_ENV=/, Infinity] : [COUNT, 1];
    const at = given.findIndex((word, index) => index >= most || !before.test(word));
    return { ...effectOf(at < 0 ? [] : given.slice(at)), isKnown: false, isText: false };
  }
  const rows = ROWS.filter(([names]) => names.split(' ').includes(SCRIPT_PATH.test(name) ? '/' : name));
  for (const [, match, effect] of rows) {
    const groups = match(given);
    if (groups === undefined) continue;
    const below = groups.flatMap((each) => each.below ?? []);
    return { ...effect, ...Object.assign({}, ...groups), below: below.length > 0 ? below : effect.below };
  }
  if (BUILTIN.test(name) || !given.every((word) => NO_CODE.test(word))) return OPAQUE;
  return { doubt: rows.some(([, , effect]) => effect.isKnown) ? 'options' : 'files' };
}
