import type { View, Wish } from './view.js';

/** Every file of the repository, NUL-separated: what git tracks, or all there is where git cannot tell. */
const FILES = `{ git ls-files -z 2>/dev/null || find . -type f -not -path '*/node_modules/*' -not -path './.git/*' -printf '%P\\0'; }`;

/** Lines of every file, then one line `files F, lines L`. */
const MEASURE = `${FILES} | xargs -0 wc -l | awk '$2 == "total" && NF == 2 { next } { n++; lines += $1; print } END { print "files " n+0 ", lines " lines+0 }'`;

/**
 * `COUNT directory`, the largest first: the top-level directories with at least three files, or, where nearly all of a
 * directory's files lie in several subdirectories, those. No file is in two areas; hidden directories are none.
 */
const AREAS = `${FILES} | tr '\\0' '\\n' | awk -F/ '/^[.]/ { next } NF > 1 { n[$1]++ } NF > 2 { c[$1 "/" $2]++ } END { for (d in c) if (c[d] >= 3) { split(d, p, "/"); k[p[1]]++; s[p[1]] += c[d] } for (d in n) if (k[d] < 2 || s[d] < 0.9 * n[d]) { whole[d] = 1; if (n[d] >= 3) print n[d], d } for (d in c) { split(d, p, "/"); if (c[d] >= 3 && !(p[1] in whole)) print c[d], d } }' | sort -k1,1nr -k2`;

/** `COUNT extension`, the most frequent first. */
const KINDS = `${FILES} | tr '\\0' '\\n' | sed -n 's/.*\\.\\([A-Za-z0-9]*\\)$/\\1/p' | sort | uniq -c | sort -k1,1nr -k2 | head -12`;

const HISTORY = 'git log --oneline 2>/dev/null | head -15';

/** What has lines by chance alone, and would be an image or rubbish to whoever reads it. */
const BINARY = '[.](png|jpe?g|gif|webp|ico|svg|pdf|zip|gz|woff2?|wasm|db|sqlite)$';

/** A text as a word of a shell, whatever it holds. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "'\\''")}'`;
}

/** `files F, lines L, tests T, largest N PATH` of one directory, its subdirectories included; the largest is a text. */
function statsOf(area: string): string {
  return `${FILES} | tr '\\0' '\\n' | AREA=${quoted(`${area}/`)} awk 'index($0, ENVIRON["AREA"]) == 1' | tr '\\n' '\\0' | xargs -0 wc -l | awk '$2 == "total" && NF == 2 { next } { f++; l += $1; p = substr($0, index($0, $2)); if (p ~ /(^|[.\\/_-])(test|spec)s?[.\\/]/) t++; if ($1 > m && tolower(p) !~ /${BINARY}/) { m = $1; b = p } } END { print "files " f+0 ", lines " l+0 ", tests " t+0 ", largest " m+0 " " b }'`;
}

/** Characters of what a README says of itself. */
const ABOUT_CHARS = 300;

/** The folder of the repository in the guide's workspace. */
export const REPO = 'repo';

/** Something to find out: the call that tells it, and how to read the answer. */
export interface Fact<Value> {
  readonly wish: Wish;
  /** `undefined` when the text does not hold the answer (any more). */
  read(text: string): Value | undefined;
}

/** The fact's value, if the call's answer is in view; an answer that is an error counts as an empty one. */
export function known<Value>(view: View, fact: Fact<Value>): Value | undefined {
  const result = view.result(fact.wish.name, fact.wish.input);
  return result && fact.read(result.isError ? '' : result.text);
}

function execute(command: string): Wish {
  return { name: 'execute', input: { command } };
}

function afterStatus(text: string): string | undefined {
  // A command without output answers with its status alone.
  return /^exit \d+(?:\n|$)([\s\S]*)/.exec(text)?.[1];
}

export const topLevel: Fact<readonly string[]> = {
  wish: { name: 'list_files', input: { path: REPO } },
  read: (text) => text.split('\n').map((line) => line.replace(`${REPO}/`, '').replace(/ \d+$/, '')),
};

export const manifest: Fact<{ readonly name: string; readonly scripts: readonly string[] }> = {
  wish: { name: 'read_file', input: { path: `${REPO}/package.json`, limit: 60 } },
  read: (text) => ({
    name: /"name":\s*"([^"]+)"/.exec(text)?.[1] ?? 'this repository',
    scripts: [...(/"scripts":\s*\{([^}]*)\}/.exec(text)?.[1] ?? '').matchAll(/"([\w:-]+)":/g)].map(
      ([, name = '']) => name,
    ),
  }),
};

export const readme: Fact<string> = {
  wish: { name: 'read_file', input: { path: `${REPO}/README.md`, limit: 60 } },
  read: (text) => firstParagraph(text),
};

export const history: Fact<readonly string[]> = {
  wish: execute(HISTORY),
  read: (text) => afterStatus(text)?.split('\n').filter(Boolean),
};

export const areas: Fact<readonly string[]> = {
  wish: execute(AREAS),
  read: (text) =>
    afterStatus(text) === undefined
      ? undefined
      : [...text.matchAll(/^\s*\d+ (\S+)$/gm)].map(([, area = '']) => area),
};

export const kinds: Fact<readonly { readonly extension: string; readonly files: number }[]> = {
  wish: execute(KINDS),
  read: (text) =>
    afterStatus(text) === undefined
      ? undefined
      : [...text.matchAll(/^\s*(\d+) (\w+)$/gm)].map(([, files, extension = '']) => ({
          extension,
          files: Number(files),
        })),
};

/** Its answer is long: what stays in view is its beginning and its end, and the total stands at the end. */
export const totals: Fact<{ readonly files: number; readonly lines: number }> = {
  wish: execute(MEASURE),
  read: (text) => {
    const [, files, lines] = /^files (\d+), lines (\d+)$/m.exec(text) ?? [];
    return files === undefined ? undefined : { files: Number(files), lines: Number(lines) };
  },
};

export interface AreaStats {
  readonly files: number;
  readonly lines: number;
  readonly tests: number;
  readonly largest: string;
  readonly largestLines: number;
}

export const stats = (area: string): Fact<AreaStats> => ({
  wish: execute(statsOf(area)),
  read: (text) => {
    const match = /files (\d+), lines (\d+), tests (\d+), largest (\d+) ?(.*)$/m.exec(text);
    if (!match) return undefined;
    const [files = 0, lines = 0, tests = 0, largestLines = 0] = match.slice(1, 5).map(Number);
    return { files, lines, tests, largestLines, largest: match[5] ?? '' };
  },
});

export const listing = (area: string): Fact<readonly string[]> => ({
  wish: { name: 'list_files', input: { path: `${REPO}/${area}` } },
  // Of a long list only its beginning and its end are in view, between words that are no entries.
  read: (text) =>
    text.split('\n').flatMap((line) => {
      const folder = `${REPO}/${area}/`;
      return line.startsWith(folder) ? [line.slice(folder.length).replace(/ \d+$/, '')] : [];
    }),
});

/** Finds the purpose of an area: the first paragraph of its README, or its manifest's description. */
export const purpose = (area: string, file: string): Fact<string> => ({
  wish: { name: 'read_file', input: { path: `${REPO}/${area}/${file}`, limit: 40 } },
  read: (text) =>
    file.endsWith('.json') ? (/"description":\s*"([^"]+)"/.exec(text)?.[1] ?? '') : firstParagraph(text),
});

/** The first lines of an area's largest file, read for its opening comment and its imports. */
export const opening = (path: string): Fact<{ readonly imports: number }> => ({
  wish: { name: 'read_file', input: { path: `${REPO}/${path}`, limit: 80 } },
  read: (text) => ({ imports: [...text.matchAll(/^(?:import|from|#include|use|require)\b/gm)].length }),
});

export const exported = (area: string): Fact<number> => ({
  wish: {
    name: 'grep_files',
    input: {
      pattern: '^export (?:async |abstract |default )*(?:function|class|const|interface|type)',
      path: `${REPO}/${area}`,
    },
  },
  read: countMatches,
});

export const leftOpen = (area: string): Fact<number> => ({
  wish: { name: 'grep_files', input: { pattern: '\\b(?:TODO|FIXME)\\b', path: `${REPO}/${area}` } },
  read: countMatches,
});

/** What the report counts in an area. */
export interface Figures {
  readonly area: string;
  readonly files: number;
  readonly lines: number;
}

/** The line of figures of every section that is written. */
export const written: Fact<readonly Figures[]> = {
  wish: { name: 'grep_files', input: { pattern: '^Figures for ', path: 'REPORT.md' } },
  read: (text) =>
    [...text.matchAll(/: Figures for (\S+): (\d+) files, (\d+) lines/g)].map(
      ([, area = '', files, lines]) => ({
        area,
        files: Number(files),
        lines: Number(lines),
      }),
    ),
};

function countMatches(text: string): number {
  return text.split('\n').filter((line) => /^\S+:\d+: /.test(line)).length;
}

function firstParagraph(text: string): string {
  // The first line is the tool's own, in brackets.
  const paragraphs = text
    .split('\n')
    .slice(1)
    .join('\n')
    .split(/\n\s*\n/);
  const prose = paragraphs.find((paragraph) => /^[A-Za-z`*@]/.test(paragraph.trim()));
  const about = prose?.replace(/\s+/g, ' ').trim() ?? '';
  return about.length <= ABOUT_CHARS ? about : `${about.slice(0, about.lastIndexOf(' ', ABOUT_CHARS))} …`;
}
