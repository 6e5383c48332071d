import { endsOf, many, maybe, one, type Part, some } from './word-pattern.js';

/**
 * The effect of a command whose words are known. `text`: does not print the content of files. `makes`: creates empty files
 * and folders. `reads`, `writes`: opens only files that its words name. `changes`: changes other files. `git`: runs hooks,
 * and programs from Git's configuration. `adds`: adds files to Git without printing them. `shows`: prints or sends added
 * files.
 */
type Known = 'text' | 'makes' | 'reads' | 'writes' | 'changes' | 'git' | 'adds' | 'shows';
/**
 * The effect of a command that rules cannot judge. `runs`: runs code of the project. `files`: the program is not in the
 * table. `options`: the program is in the table, but not with these words. `anything`: may run any program.
 */
type Unknown = 'runs' | 'files' | 'options' | 'anything';
export const UNKNOWN = /^(?:runs|files|options|anything)$/;
const DOUBT = /^(?:files|options|anything)$/;

/**
 * A command with `below` opens all files below these words, or only those with a name like `name`. It copies them to the
 * file or directory `into`. A shell looks for the file `script` in `PATH` if it is not in the working directory.
 */
export type Effect = Partial<Readonly<Record<'name' | 'script' | 'into', string>>> & {
  readonly does: Known | Unknown;
  readonly below?: readonly string[] | undefined;
};

const FILE = /^[^-]/;
const COUNT = /^\d+$/;
const LINE = /^[^-\n].*$/;
const WALKED = /^(?<below>[^-\n].*)$/;
const FOLDERS = some(WALKED);
const PLAIN = /^(?<below>[\w./:@%+,=~^-]*)$/;
const FILTER = /^[\w.][\w./:@%+,=~^-]*$/;
const RUN = /^(?<below>[\w.][\w./:@%+,=~^-]*)$/;
/** Matches files of the project, none of which is in a hidden folder, such as `node_modules/.bin`. */
const PATH = /^(?<file>(?:\.\/)?\w[\w.-]*(?:\/\w[\w.-]*)*)$/;
/** The titles of tests may have blanks. */
const TITLE = [/^(?:-[kt]|--grep)$/, /^\w[\w .+]*$/];
const PROJECT = /^(?:build|check|ci|run|start|test)$/;
const SHORT = /^-(?:[chlnrsuw]+|n?\d+|t.|k[\d.,nr]+)$/;
const search = (flags: RegExp) => many(flags, /^-[ABCm]\d+$/, [/^-[ABCm]$/, COUNT]);
const GREP = search(/^-[EFHIPachilnoqrsvwx]+$/);
const RG = search(/^-[FHIPacilnoqsvwx]+$/);
const PATTERN = one(['-e', /^.*$/], LINE);
const SED =
  /^(?:(?:(?:(?:\d+|\$)(?:,(?:\d+|\$))?)?[pdq]|s([/|#,])(?:(?!\1)[^\\\n[]|\[\^?[^^[\]/|#,\\\n][^[\]/|#,\\\n]*\]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*)(?:; *|$))+$/;
const JQ = /^(?:keys|length|\.\w*)(?:\.\w*|\[\d*\])*(?: *\| *(?:keys|length|\.\w*)(?:\.\w*|\[\d*\])*)*$/;
const URL = /^(?:https?:\/\/)?\w[\w.-]*(?::\d+)?(?:\/[\w./?&=+,~-]*)?$/;
const TESTS = many(['-type', /^\w$/], ['-not', '-path', /^.+$/], ['-maxdepth', COUNT]);
/** Matches a name pattern of `find`. Rejects `?`: `find` counts characters, which may be several bytes or UTF-16 units. */
const NAMED = /^(?<name>[^[?\\\n]{0,200})$/;
const PLACES = some(/^(?<below>[^-(!\n].*)$/);
const EACH = one('cat', ['grep', maybe(/^-[ln]+$/), LINE]);
const COMMIT = many([/^-[aq]*m$/, /^/], /^-[aq]+$/, ['-F', '-'], /^--(?:amend|no-edit)$/);
const SHOWN = /^-(?:\d+|[np]|-|-(?:cached|name-only|oneline|staged|stat|format=.*))$/;
/**
 * Matches Python or JavaScript code that only prints; as shell code it is a syntax error.
 * Bounded because a single letter must be a whole word, so that it cannot be part of `sys.version`, and because code of
 * 1 000 characters or more does not match.
 */
export const PRINTS =
  /^(?![\s\S]{1000})(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;
const CODE = [/^-[ec]$/, PRINTS];

/**
 * The known programs: their names, their effect, and patterns of their words. The first matching row applies. If rules are
 * about files, every other command needs approval. Named groups mark words of commands that must not leave the working
 * directory, because these commands also open files that no word names.
 */
const ROWS: readonly (readonly [names: string, does: Effect['does'], ...words: Part[]])[] = [
  ['true false : echo pwd ls which', 'text', many(/^/)],
  ['exit kill sleep test [', 'text', many(/^[\w./:@%+,=~^!<>$?#\]-]+$/)],
  ['declare export', 'text', maybe(/^-[ax]$/), many(/^\w+(?:=[\w./:@%+,=~^-]*)?$/)],
  ['cd', 'text', LINE],
  ['mkdir touch', 'makes', maybe('-p'), many(FILE)],
  ['chmod', 'makes', '+x', many(FILE)],
  ['cat head tail wc du sort', 'reads', many(SHORT, ['-n', COUNT]), many(FILE)],
  ['date uniq', 'reads', many(/^-[cdu]+$/)],
  ['diff', 'reads', maybe('-u'), FOLDERS],
  ['grep', 'reads', one([search(/^-[EFHIPachilnoqsvwx]+$/), PATTERN], [GREP, PATTERN, GREP, FOLDERS])],
  ['rg', 'reads', RG, PATTERN, RG, FOLDERS],
  ['sed', 'reads', many('-n', '-E'), SED, many(FILE)],
  ['sed', 'writes', '-i', SED, many(FILE)],
  ['awk', 'reads', /^\{ *print(?: \$\d+)* *\}$/, many(/^[^-=][^=]*$/)],
  ['jq', 'reads', maybe('-r'), JQ, many(FILE)],
  ['curl', 'reads', many([/^-[Hd]$/, /^/], /^-[sSfLi]+$/, URL)],
  ['tee', 'writes', many(FILE)],
  ['cp', 'writes', FOLDERS, /^(?<into>(?<below>[^-\n].*))$/],
  ['cp mv', 'changes', maybe('-r'), FOLDERS],
  ['tar', 'writes', /^-?cz?f$/, PATH, many(/^--exclude=.+$/), FOLDERS],
  ['find', 'text', many(FILE), many([/^-(?:maxdepth|name|path|type)$/, /./], '-not', '-print0')],
  ['find', 'reads', PLACES, TESTS, '-name', NAMED, TESTS, '-exec', EACH, '{}', /^[;+]$/],
  ['xargs', 'reads', '-0', 'wc', /^-[clw]+$/],
  ['git', 'adds', 'add', some('-A', '-u', FILE)],
  ['git', 'adds', maybe(['-c', /^user\.(?:name|email)=/]), 'commit', COMMIT],
  ['git', 'shows', /^(?:for-each-ref|grep|log|show)$/, many(SHOWN, FILE)],
  ['git', 'shows', /^(?<file>diff)$/, many(SHOWN, WALKED)],
  ['git', 'git', 'rev-parse', maybe(/^--[a-z-]+$/), maybe('HEAD')],
  ['git', 'shows', 'push', maybe('-u'), many(/^\w[\w./-]*(?::[\w./-]+)?$/)],
  ['git', 'git', one(/^(?:branch|fetch|status)$/, ['status', '--short'], ['checkout', '-b', FILTER])],
  ['git', 'changes', one(['rebase', FILTER], ['stash', 'pop', maybe(/^[\w@{}]+$/)])],
  ['npx', 'runs', one(['vitest', 'run'], /^(tsc|eslint|jest)$/), many(TITLE, /^-(-noEmit|-fix|p)$/, FILTER)],
  ['npx', 'runs', 'biome', 'check', maybe('--write'), FOLDERS],
  ['pytest', 'runs', many(TITLE, /^-[qvx]+$/, RUN)],
  ['node python python3', 'runs', one(/^-(-test|-version)?$/, ['-m', 'pytest'], CODE), many(RUN)],
  ['node python python3', 'runs', PATH, many(PLAIN)],
  ['sh bash', 'runs', one(/^(?<script>(?<below>\w[\w.-]*))$/, PATH), many(PLAIN)],
  ['npm pnpm yarn cargo', 'runs', PROJECT, many(RUN), maybe(['--', many(TITLE, PLAIN)])],
  ['go', 'runs', /^(?:build|test)$/, many(/^[\w.][\w./]*$/)],
  ['make', 'runs', many(/^(?:-j\d*|(?<below>\w[\w./-]*))$/)],
  ['docker', 'runs', one('ps', ['run', many('--rm', '-d', ['-p', /^[\d.:]+$/]), /^\w[\w./:-]*$/])],
];
/** Matches builtins that run code or change how the shell reads the following words, and programs that run words. */
const RUNS_WORDS =
  /^(?:\$|awk|find|sed|tar|xargs|eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|command|exec|coproc|logout|suspend|integer|set|declare|typeset|local|readonly|export|printf|exit|return|wait|test|\[)$/;
/** Matches a word that cannot be a command line or code: plain text, a glob, a template. */
const NO_CODE = /^(?:[\w ./:@%+,=~^-]*|[^\s'"\\;&|<>()$!`]*|\$)$/;

/** Returns an effect in which `does` replaces effects that match `from`. Other known effects become `files`. */
export function changed(effect: Effect, from: RegExp, does: Effect['does']): Effect {
  return { ...effect, does: from.test(effect.does) ? does : DOUBT.test(effect.does) ? effect.does : 'files' };
}

/** Returns the effect of a command by its words. A word that is not literal is passed as `$`. */
export function effectOf([name = '', ...given]: readonly string[]): Effect {
  // Treat `./script` like `node ./script`.
  if (name.includes('/')) return effectOf(['node', name, ...given]);
  const own = name === 'env' ? /^NODE_ENV=/ : name === 'timeout' && COUNT;
  if (own) return changed(effectOf(given.slice(+own.test(given[0] ?? ''))), /text|reads|git|runs/, 'runs');
  const rows = ROWS.filter(([names]) => names.split(' ').includes(name));
  for (const [, does, ...parts] of rows) {
    const groups = endsOf(parts, given).get(given.length);
    const below = groups?.[0] && groups.flatMap((each) => each.below ?? []);
    if (groups) return { does, ...Object.assign({}, ...groups), below };
  }
  if (RUNS_WORDS.test(name) || !given.every((word) => NO_CODE.test(word))) return { does: 'anything' };
  return { does: rows.every(([, does]) => UNKNOWN.test(does)) ? 'files' : 'options' };
}
