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
  readonly name?: string | undefined;
  /** `runs`: code of files. `writes`: files that its words name. `changes`: files that no word names. */
  readonly does?: 'runs' | 'writes' | 'changes';
  /** Adds files to Git without printing them, or prints what was added. */
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

const FILES = String.raw`(?:\n[^-\n].*)*`;
const BELOW = String.raw`(?<below>(?:\n[^-\n].*)+)`;
const PLAIN = String.raw`[\w./:@%+,=~^-]*`;
const PATH = String.raw`\n(?:\./)?\w[\w.-]*(?:/\w[\w.-]*)*`;
const RUN = String.raw`(?:\n[\w.]${PLAIN})*`;
/** The titles of tests may have blanks. */
const TITLE = String.raw`\n(?:-[kt]|--grep)\n\w[\w .+]*`;
const PROJECT = String.raw`\n(?:build|ci|run|start|test)${RUN}(?:\n--(?:${TITLE}|\n${PLAIN})*)?`;
const search = (letters: string) => String.raw`(?:\n-[FHIPacilnoqsvwx${letters}]+|\n-[ABCm]\n?\d+)*`;
const PATTERN = String.raw`\n(?:-e\n.*|[^-\n].*)`;
const SUBSTITUTE = String.raw`s([/|#,])(?:(?!\1)[^\\\n[]|\[[^\]/|#,\\\n]+\]|\\.)*\1(?:(?!\1)[^\\\n]|\\.)*\1[gpI\d]*`;
const SED = String.raw`\n(?:(?:(?:(?:\d+|\$)(?:,(?:\d+|\$))?)?[pdq]|${SUBSTITUTE})(?:; *|(?=\n|$)))+${FILES}`;
const CURL = String.raw`(?:\n-[Hd]\n.*|\n-[sSfLi]+|\n(?:https?://)?\w[\w.-]*(?::\d+)?(?:/[\w./?&=+,~-]*)?)*`;
const TEST = String.raw`(?:\n-type\n\w|\n-not\n-path\n.+|\n-maxdepth\n\d+)*`;
const PLACES = String.raw`(?<below>(?:\n[^-(!\n].*)+)`;
const NAME = String.raw`${TEST}\n-name\n(?<name>[^[\\\n]*)${TEST}`;
const EACH = String.raw`\n-exec\n(?:cat|grep(?:\n-[ln]+)?\n[^-\n].*)\n\{\}\n[;+]`;
const SHOWN = String.raw`(?:\n-(?:\d+|[np]|-|-(?:cached|name-only|oneline|staged|stat|format=.*))|\n[^-\n].*)*`;
const COMMIT = String.raw`(?:\n-c\nuser\.(?:name|email)=.*)?\ncommit(?:\n-[aq]*m\n.*|\n-[aq]+|\n-F\n-|\n--amend|\n--no-edit)*`;
/**
 * Matches Python or JavaScript code that only prints; as shell code it is a syntax error.
 * Bounded because no single letter of `sys.version` is a word and longer code is not matched.
 */
const PRINTS =
  /(?:import sys; *|for [a-z] in (?:range\(\d+\)|\[[\d, ]*\]):\s*)*(?:print|console\.log)\((?:[\d+*/%, .-]|sys\.version|\b[a-z]\b|'[^'\\{}\n]*'|f'\{[a-z]\}')*\)[;\s]*$/;

/**
 * All that is known of programs: the words that may follow a name, each after a line break. The first row that fits
 * decides. Beside rules about files, every other command asks.
 */
const ROWS: readonly (readonly [names: string, words: string, effect: Effect])[] = [
  ['true false : echo pwd ls which', '[^]*', TEXT],
  ['exit kill sleep test [', String.raw`(?:\n(?:[\w./:@%+,=~^!<>\]-]|\$[\w?!#]?)+)*`, TEXT],
  ['declare export', String.raw`(?:\n-[ax])?(?:\n\w+(?:=${PLAIN})?)*`, TEXT],
  ['cd', String.raw`\n[^-\n].*`, TEXT],
  ['mkdir touch', String.raw`(?:\n-p)?${FILES}`, TEXT],
  ['chmod', String.raw`\n\+x${FILES}`, TEXT],
  ['cat head tail wc du sort', String.raw`(?:\n-(?:[chlnrsuw]+|n?\d+|n\n\d+|t.|k[\d.,nr]+))*${FILES}`, READS],
  ['uniq', String.raw`(?:\n-[cdu]+)*`, READS],
  ['diff', String.raw`(?:\n-u)?${BELOW}`, READS],
  ['grep', String.raw`(?![^]*\n-\w*r)${search('Eh')}${PATTERN}`, READS],
  ['grep', `${search('Ehr')}${PATTERN}${search('Ehr')}${BELOW}`, READS],
  ['rg', `${search('')}${PATTERN}${search('')}${BELOW}`, READS],
  ['sed', String.raw`(?:\n-[nE])*${SED}`, READS],
  ['sed', String.raw`\n-i${SED}`, WRITES],
  ['awk', String.raw`\n\{ *print(?: \$\d+)* *\}(?:\n[^-=\n][^=\n]*)*`, READS],
  ['jq', String.raw`(?:\n-r)?\n(?:\.[\w.]*|\[\d*\]|keys|length| *\| *)+${FILES}`, READS],
  ['curl', CURL, READS],
  ['tee', FILES, WRITES],
  ['cp', BELOW, WRITES],
  ['cp mv', String.raw`(?:\n-r)?${BELOW}`, CHANGES],
  ['tar', String.raw`\n-?cz?f${PATH}(?:\n--exclude=.+)*${BELOW}`, WRITES],
  ['find', String.raw`${FILES}(?:\n-(?:name|path|type)\n.+|\n-maxdepth\n\d+|\n-not|\n-print0)*`, TEXT],
  ['find', `${PLACES}${NAME}${EACH}`, READS],
  ['xargs', String.raw`\n-0\nwc\n-[clw]+`, READS],
  ['git', String.raw`\nadd(?:\n-A|\n[^-\n].*)+`, { ...GIT, git: 'adds' }],
  ['git', COMMIT, { ...GIT, git: 'adds' }],
  ['git', String.raw`\n(?:for-each-ref|grep|log|show)${SHOWN}`, { ...GIT, git: 'shows' }],
  ['git', String.raw`\ndiff(?<below>${SHOWN})`, { ...GIT, git: 'shows' }],
  ['git', String.raw`\nstatus(?:\n--short)?|\nrev-parse(?:\n--[a-z-]+)?(?:\nHEAD)?`, GIT],
  ['git', String.raw`\npush(?:\n-u)?(?:\n\w[\w./-]*(?::[\w./-]+)?)*|\ncheckout\n-b\n\w[\w./-]*`, GIT],
  ['git', String.raw`\nrebase\n\w[\w./-]*|\nstash\npop(?:\n[\w@{}]+)?`, CHANGES],
  [
    'npx',
    String.raw`\n(?:vitest\nrun|tsc|eslint)(?:${TITLE}|\n--noEmit|\n--fix|\n-p|\n[\w.]${PLAIN})*`,
    RUNS,
  ],
  ['npx', String.raw`\nbiome\ncheck(?:\n--write)?${BELOW}`, RUNS],
  ['pytest', String.raw`(?:${TITLE}|\n[\w.]${PLAIN})*`, RUNS],
  ['python python3', String.raw`\n-m\npytest${RUN}`, RUNS],
  ['node python python3', String.raw`\n-(?:[ec]\n${PRINTS.source})?|\n--test${RUN}`, RUNS],
  ['node python python3 sh bash', String.raw`${PATH}(?<below>(?:\n${PLAIN})*)`, RUNS],
  ['/', String.raw`(?<below>(?:\n${PLAIN})*)`, RUNS],
  ['npm pnpm yarn cargo', PROJECT, RUNS],
  ['go', String.raw`\n(?:build|test)(?:\n[\w.][\w./]*)*`, RUNS],
  ['make', String.raw`(?:\n\w[\w./-]*)*`, RUNS],
  ['docker', String.raw`\nps|\nrun(?:\n--rm|\n-d|\n-p\n[\d.:]+)*\n\w[\w./:-]*`, RUNS],
];
/** Matches scripts of the project by path. Programs in hidden folders, such as `node_modules/.bin`, are not scripts. */
const SCRIPT = /^(?:\.\/\w[\w.-]*|\w[\w.-]*(?=\/))(?:\/\w[\w.-]*)*$/;
/** Matches programs that run the words after their own, and the words that may precede those. */
const WRAPPER = /^(?:env|timeout)$/;
const WRAPPED = /^(?:\d+|NODE_ENV=.*)$/;

/** Matches builtins that run code or change how the shell reads the following words. */
const BUILTIN =
  /^(?:eval|trap|alias|let|read|mapfile|readarray|shopt|enable|hash|bind|complete|compgen|compopt|history|fc|getopts|builtin|command|exec|coproc|logout|suspend|integer|set|declare|typeset|local|readonly|export|printf|exit|return|wait|test|\[)$/;
/** Matches a word that cannot be a command line or code: plain text, a glob, a template. */
const NO_CODE = /^(?:[\w ./:@%+,=~^-]*|[^\s'"\\;&|<>()$!`]*|\$)$/;

/** Returns the effect of a command by its words. A word that only the shell knows is `$`. */
export function effectOf([name = '', ...given]: readonly string[]): Effect {
  if (WRAPPER.test(name)) {
    const at = given.findIndex((word) => !WRAPPED.test(word));
    return { ...effectOf(at < 0 ? [] : given.slice(at)), isKnown: false, isText: false };
  }
  const line = given.map((word) => `\n${word.replaceAll('\n', '\0')}`).join('');
  const rows = ROWS.filter(([names]) => names.split(' ').includes(SCRIPT.test(name) ? '/' : name));
  for (const [, words, effect] of rows) {
    const found = new RegExp(`^(?:${words})$`).exec(line);
    if (found === null || (found.groups && line.includes('\0'))) continue;
    const { below, name: each } = found.groups ?? {};
    return { ...effect, below: below?.split('\n').slice(1), name: each };
  }
  if (BUILTIN.test(name) || !given.every((word) => NO_CODE.test(word))) return OPAQUE;
  return { doubt: rows.some(([, , effect]) => effect.isKnown) ? 'options' : 'files' };
}

export function onlyPrints(code: string): boolean {
  return code.length <= 1_000 && PRINTS.exec(code)?.index === 0;
}
