import type { View, Wish } from './view.js';

/** Lists every file of the repository, NUL-separated: those that git tracks or, without git, all except build output and dependencies. */
const FILES = `{ git ls-files -z 2>/dev/null || find . -type d -regextype posix-extended -regex '.*/(node_modules|[.]git|dist|build|coverage|[.]turbo)' -prune -o -type f -not -name .git -printf '%P\\0'; }`;

/** Counts the lines of all files. The last line is `files F, lines L`. */
const MEASURE = `${FILES} | xargs -0 wc -l | awk '$2 == "total" && NF == 2 { next } { n++; lines += $1; print } END { print "files " n+0 ", lines " lines+0 }'`;

/**
 * Lists areas as `COUNT directory`, the largest first: top-level directories with at least three files. If nearly all files of a directory
 * are in several subdirectories, those are the areas instead. No file is in two areas. Hidden directories are skipped.
 */
const AREAS = `${FILES} | tr '\\0' '\\n' | awk -F/ '/^[.]/ { next } NF > 1 { n[$1]++ } NF > 2 { c[$1 "/" $2]++ } END { for (d in c) if (c[d] >= 3) { split(d, p, "/"); k[p[1]]++; s[p[1]] += c[d] } for (d in n) if (k[d] < 2 || s[d] < 0.9 * n[d]) { whole[d] = 1; if (n[d] >= 3) print n[d], d } for (d in c) { split(d, p, "/"); if (c[d] >= 3 && !(p[1] in whole)) print c[d], d } }' | sort -k1,1nr -k2`;

/** Matches binary files. Their line counts mean nothing, and their content is not readable. */
const BINARY = '[.](png|jpe?g|gif|webp|ico|svg|pdf|zip|gz|woff2?|wasm|db|sqlite)$';

/** Quotes a text for a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** Prints the lines that export a declaration, of the files whose names it reads. */
const EXPORTS = `xargs -0 grep -hE '^export (async |abstract |default )*(function|class|const|interface|type)'`;

/**
 * Returns the command that prints `files F, lines L, tests T, exports E, largest N PATH` for a directory with its subdirectories. The
 * largest file is a text file.
 */
function statsOf(area: string): string {
  const files = `${FILES} | tr '\\0' '\\n' | AREA=${quoted(`${area}/`)} awk 'index($0, ENVIRON["AREA"]) == 1' | tr '\\n' '\\0'`;
  return `E=$(${files} | ${EXPORTS} | awk 'END { print NR }'); ${files} | xargs -0 wc -l | E=$E awk '$2 == "total" && NF == 2 { next } { f++; l += $1; p = substr($0, index($0, $2)); if (p ~ /(^|[.\\/_-])(test|spec)s?[.\\/]/) t++; if ($1 > m && tolower(p) !~ /${BINARY}/) { m = $1; b = p } } END { print "files " f+0 ", lines " l+0 ", tests " t+0 ", exports " ENVIRON["E"] ", largest " m+0 " " b }'`;
}

/** Maximum characters of a README's description. */
const ABOUT_CHARS = 160;

/** The folder of the repository in the guide's workspace. */
const REPO = 'repo';

/** A fact to find out: a tool call, and a function that parses its result. */
export interface Fact<Value> {
  readonly wish: Wish;
  /** Parses the result. Returns `undefined` if the text does not contain the fact (any more). */
  read(text: string): Value | undefined;
}

/** Returns the fact's value if the call's result is in view. An error result counts as an empty one. */
export function known<Value>(view: View, fact: Fact<Value>): Value | undefined {
  const result = view.result(fact.wish.name, fact.wish.input);
  return result && fact.read(result.isError ? '' : result.text);
}

function execute(command: string): Wish {
  return { name: 'execute', input: { command } };
}

function read(path: string, limit: number): Wish {
  return { name: 'read_file', input: { path: `${REPO}/${path}`, limit } };
}

/** Returns a fact without a value, for files that the guide only looks at. */
function looked(wish: Wish): Fact<true> {
  return { wish, read: () => true };
}

/** Returns a command's output, which begins with its exit status; `undefined` if the text is not its whole output. */
function output(text: string): string | undefined {
  return /^exit \d+(?:\n|$)([\s\S]*)/.exec(text)?.[1];
}

export const topLevel = looked({ name: 'list_files', input: { path: REPO } });

export const name: Fact<string> = {
  wish: read('package.json', 60),
  read: (text) => /"name":\s*"([^"]+)"/.exec(text)?.[1] ?? 'this repository',
};

export const readme: Fact<string> = { wish: read('README.md', 60), read: firstParagraph };

export const areas: Fact<readonly string[]> = {
  wish: execute(AREAS),
  read: (text) =>
    output(text) === undefined
      ? undefined
      : [...text.matchAll(/^[ \t]*\d+ (\S+)$/gm)].map(([, area = '']) => area),
};

/** For example `12 files with 340 lines`. The total is at the end of the long output, which stays in view. */
export const totals: Fact<string> = {
  wish: execute(MEASURE),
  read: (text) => /^files (\d+), lines (\d+)$/m.exec(text)?.slice(1).join(' files with ').concat(' lines'),
};

/** The figures of a directory, including its subdirectories. */
export interface AreaStats {
  readonly files: number;
  readonly lines: number;
  readonly tests: number;
  readonly exports: number;
  readonly largest: string;
  readonly largestLines: number;
}

export const stats = (area: string): Fact<AreaStats> => ({
  wish: execute(statsOf(area)),
  read: (text) => {
    const match = /files (\d+), lines (\d+), tests (\d+), exports (\d+), largest (\d+)(?: (.*))?$/m.exec(
      text,
    );
    if (!match) return undefined;
    const [files = 0, lines = 0, tests = 0, exports = 0, largestLines = 0] = match.slice(1, 6).map(Number);
    return { files, lines, tests, exports, largestLines, largest: match[6] ?? '' };
  },
});

/** The file that describes an area; empty if there is none. */
export const readmeOf = (area: string): Fact<string> => ({
  wish: { name: 'list_files', input: { path: `${REPO}/${area}` } },
  read: (text) =>
    ['README.md', 'package.json'].find((file) => text.includes(`${REPO}/${area}/${file} `)) ?? '',
});

/** The purpose of an area: the first paragraph of its README, or its manifest's description. */
export const purpose = (area: string, file: string): Fact<string> => ({
  wish: read(`${area}/${file}`, 40),
  read: (text) =>
    file.endsWith('.json') ? (/"description":\s*"([^"]+)"/.exec(text)?.[1] ?? '') : firstParagraph(text),
});

/** The first lines of an area's largest file. */
export const opening = (path: string) => looked(read(path, 80));

/** The figures of an area in the report. */
type Figures = Pick<AreaStats, 'files' | 'lines'> & { readonly area: string };

/** A name for a new report. No survey overwrites the report of another one, which may be from another conversation. */
export const freeReport: Fact<string> = {
  wish: { name: 'list_files', input: { path: '' } },
  read(text) {
    const taken = text.split('\n').map((line) => line.replace(/ \d+$/, ''));
    const names = ['REPORT.md', ...taken.map((_, index) => `REPORT-${index + 2}.md`)];
    return names.find((each) => !taken.includes(each));
  },
};

/** The figures of every written section of a report, the largest area first. */
export const written = (report: string): Fact<readonly Figures[]> => ({
  wish: {
    name: 'grep_files',
    input: { pattern: '^(?:Figures for|The repository has) ', path: report },
  },
  read: (text) =>
    [...text.matchAll(/: Figures for (\S+): (\d+) files, (\d+) lines/g)]
      .map(([, area = '', files, lines]) => ({ area, files: Number(files), lines: Number(lines) }))
      .sort((left, right) => right.lines - left.lines),
});

/** The lines of the whole repository, as a report states them. */
export const wholeLines = (report: string): Fact<string> => ({
  wish: written(report).wish,
  read: (text) => /: The repository has \d+ files with (\d+) lines/.exec(text)?.[1],
});

function firstParagraph(text: string): string {
  // The first line is added by the tool, in brackets.
  const paragraphs = text.replace(/^.*\n/, '').split(/\n\s*\n/);
  const prose = paragraphs.find((paragraph) => /^[A-Za-z`*@]/.test(paragraph.trim()));
  const about = prose?.replace(/\s+/g, ' ').trim() ?? '';
  return about.length <= ABOUT_CHARS ? about : `${about.slice(0, about.lastIndexOf(' ', ABOUT_CHARS))} …`;
}
