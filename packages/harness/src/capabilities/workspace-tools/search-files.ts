import { defineTool, readText, type Tool, type ToolContext, type Workspace, WorkspaceError } from '@x/core';
import { headOf, inPieces, KeyedMutex, turnTaker } from '@x/core/internal';
import type { WorkspaceEntry } from '@x/core/store';
import * as z from 'zod';
import { compileGlob, compilePattern, type Pattern } from './patterns.js';
import { MAX_FILE_BYTES, type WorkspaceToolsSettings } from './workspace-tools-config.js';

/** Yields the files whose path matches a glob. Only the part of a path from `startOf` on is compared. */
async function* fitting(
  files: AsyncIterable<WorkspaceEntry>,
  glob: Pattern,
  startOf: (path: string) => number,
): AsyncGenerator<WorkspaceEntry> {
  for await (const file of files) if (glob.matches(file.path.slice(startOf(file.path)))) yield file;
}

/** A search through a workspace. */
interface Search {
  readonly workspace: Workspace;
  readonly ignore: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** Paths that cannot be read. The answer lists them. */
  readonly passedOver: string[];
  /** Files that are too large to be searched. The answer lists them. */
  readonly large: string[];
  /** Links to directories that were already walked. The answer lists them. */
  readonly linked: string[];
  /** Files with lines so long that only their beginning was searched. */
  readonly cut: string[];
  /** Real paths of the directories that were walked. */
  readonly seen: Set<string>;
  readonly giveWay: ReturnType<typeof turnTaker>;
}

function searchOf({ workspace, signal }: ToolContext, ignore: readonly string[]): Search {
  return {
    workspace,
    signal,
    ignore: new Set(ignore),
    passedOver: [],
    large: [],
    linked: [],
    cut: [],
    seen: new Set(),
    giveWay: turnTaker(),
  };
}

/** Yields the files below a directory. */
async function* filesIn(search: Search, path: string): AsyncGenerator<WorkspaceEntry> {
  for await (const entry of walk(search, path)) if (entry.type === 'file') yield entry;
}

/**
 * Yields all entries below `path`, depth first and sorted. Skips directories with an ignored name, entries that cannot
 * be read, and names that are not valid paths. Skips a link to a directory that was already walked, because links may
 * form cycles.
 *
 * @param expected The real path of `path`, unless it is a link.
 */
async function* walk(search: Search, path: string, expected?: string): AsyncGenerator<WorkspaceEntry> {
  const { workspace, ignore, signal, seen, giveWay } = search;
  const { path: real } = (await workspace.identify?.(path)) ?? { path };
  if (expected !== undefined && real !== expected && seen.has(real)) {
    search.linked.push(`${JSON.stringify(path)} → ${JSON.stringify(real || '.')}`);
    return;
  }
  seen.add(real);
  for await (const entry of workspace.list(path)) {
    await giveWay();
    signal.throwIfAborted();
    const name = entry.path.slice(entry.path.lastIndexOf('/') + 1);
    if (entry.type === 'file') yield entry;
    else if (!ignore.has(name)) {
      yield entry;
      const inside = walk(search, entry.path, real === '' ? name : `${real}/${name}`);
      yield* orPassOver(search, entry.path, inside);
    }
  }
}

async function* orPassOver<Value>(
  { passedOver }: Search,
  path: string,
  values: AsyncIterable<Value>,
): AsyncGenerator<Value> {
  try {
    yield* values;
  } catch (error) {
    if (!isUnreadable(error)) throw error;
    passedOver.push(path);
  }
}

/** Tests if an error concerns a single file or directory, rather than the whole search, such as a lost server. */
function isUnreadable(error: unknown): boolean {
  return WorkspaceError.isInstance(error) && error.code !== 'workspace_io';
}

const MAX_NAMED = 10;
const quoted = (path: string) => JSON.stringify(path);

/** Renders lines that list the skipped paths. */
function passedOverLines({ passedOver, large, linked, cut }: Search): readonly string[] {
  const line = (what: string, named: readonly string[]) => {
    const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : '';
    return named.length === 0 ? [] : [`[${what}: ${named.slice(0, MAX_NAMED).join(', ')}${more}]`];
  };
  return [
    ...line('not searched, because it cannot be read', passedOver.map(quoted)),
    ...line(`not searched, because it has more than ${MAX_FILE_BYTES} bytes`, large.map(quoted)),
    ...line('not searched again, because a link leads to a directory that is searched already', linked),
    ...line('searched only at the start of long lines', cut),
  ];
}

export function listFilesTool({ maxEntries, ignore }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'list_files',
    description: `Lists a directory, at most ${maxEntries} entries. Directories end with "/"; files show their size in bytes.`,
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      path: z.string().default('').describe('The directory. Default: the root'),
      recursive: z.boolean().default(false),
    }),
    async execute({ path, recursive }, context) {
      const search = searchOf(context, ignore);
      const entries = recursive ? walk(search, path) : context.workspace.list(path);
      const lines: string[] = [];
      for await (const entry of entries) {
        if (lines.length === maxEntries) {
          lines.push(`[only the first ${maxEntries} entries; list a subdirectory, or use glob_files]`);
          break;
        }
        lines.push(entry.type === 'directory' ? `${entry.path}/` : `${entry.path} ${entry.size}`);
      }
      if (lines.length === 0) lines.push(`[${path || 'the workspace'} is empty or does not exist]`);
      return [...lines, ...passedOverLines(search)].join('\n');
    },
  });
}

export function globFilesTool({ maxEntries, ignore }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'glob_files',
    description: `Finds files by a glob pattern such as "src/**/*.ts", at most ${maxEntries}.`,
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      pattern: z.string().min(1).max(1_000).describe('The pattern, relative to path'),
      path: z.string().default('').describe('The directory to search. Default: the root'),
    }),
    async execute({ pattern, path }, context) {
      const search = searchOf(context, ignore);
      const prefix = path.split('/').filter(Boolean).join('/');
      const from = prefix === '' ? 0 : prefix.length + 1;
      const found: string[] = [];
      const files = fitting(filesIn(search, path), compileGlob(pattern, 'pattern'), () => from);
      for await (const { path: file } of files) {
        if (found.length === maxEntries) {
          found.push(`[only the first ${maxEntries} matches; use a narrower pattern]`);
          break;
        }
        found.push(file);
      }
      if (found.length === 0) found.push(`[no file matches ${pattern}]`);
      return [...found, ...passedOverLines(search)].join('\n');
    },
  });
}

const MAX_LINE_CHARS = 500;

export function grepFilesTool({ maxMatches, ignore }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'grep_files',
    description:
      `Searches files line by line with a regular expression (RE2: no lookaround). Returns at most ${maxMatches} matches ` +
      'as "path:line: text".',
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      pattern: z.string().min(1).max(1_000),
      path: z.string().default('').describe('A file or directory. Default: the root'),
      glob: z
        .string()
        .max(1_000)
        .optional()
        .describe('Only files whose name or path matches, for example "*.ts"'),
      ignoreCase: z.boolean().default(false),
    }),
    async execute({ pattern, path, glob, ignoreCase }, context) {
      const expression = compilePattern(pattern, 'pattern', ignoreCase);
      const search = searchOf(context, ignore);
      const all = files(search, path);
      const startOf = glob?.includes('/') ? () => 0 : (file: string) => file.lastIndexOf('/') + 1;
      const wanted = glob ? fitting(all, compileGlob(glob, 'glob'), startOf) : all;
      const found: string[] = [];
      for await (const { path: file, size } of wanted) {
        context.signal.throwIfAborted();
        if (size > MAX_FILE_BYTES) {
          search.large.push(file);
          continue;
        }
        const matching = async () => {
          const text = await readIfAllowed(search, file, file === path);
          if (text === undefined || text.includes('\0')) return [];
          const work = linesThatMatch(text, expression, maxMatches - found.length);
          const { matches, isCut } = await inPieces(work, context.signal);
          if (isCut) search.cut.push(file);
          return matches;
        };
        for (const { number, line } of await SEARCHES.run(context.state.sessionId, matching)) {
          if (found.length === maxMatches) {
            found.push(`[only the first ${maxMatches} matches; use a narrower pattern, path or glob]`);
            return [...found, ...passedOverLines(search)].join('\n');
          }
          found.push(`${file}:${number}: ${headOf(line.trim(), MAX_LINE_CHARS)}`);
        }
      }
      if (found.length === 0) found.push(`[no line matches ${pattern}]`);
      return [...found, ...passedOverLines(search)].join('\n');
    },
  });
}

/** Reads a file. Skips it if it cannot be read, unless it is the only file of the search. */
async function readIfAllowed(
  { workspace, passedOver }: Search,
  file: string,
  isAll: boolean,
): Promise<string | undefined> {
  try {
    return await readText(workspace, file, MAX_FILE_BYTES);
  } catch (error) {
    const isRefused = WorkspaceError.isInstance(error) && error.code === 'refused';
    if (!isRefused && (isAll || !isUnreadable(error))) throw error;
    if (!isRefused) passedOver.push(file);
    return undefined;
  }
}

async function* files(search: Search, path: string): AsyncGenerator<WorkspaceEntry> {
  const entry = path === '' ? undefined : await search.workspace.stat(path);
  if (entry?.type === 'file') yield entry;
  else yield* filesIn(search, path);
}

/** Serializes the searches of one session, so that a step with many calls is no heavier than a step with one. */
const SEARCHES = new KeyedMutex();

interface Match {
  readonly number: number;
  readonly line: string;
}

/** Finds matching lines. Stops at the first one beyond `most`. `isCut` is true if a line is too long to be searched as a whole. */
function* linesThatMatch(text: string, pattern: Pattern, most: number) {
  const matches: Match[] = [];
  let isCut = false;
  for (let [start, number] = [0, 1]; start <= text.length && matches.length <= most; number++) {
    const newline = text.indexOf('\n', start);
    const end = newline < 0 ? text.length : newline;
    const line = text.slice(start, end);
    if (line.length > pattern.maxChars) isCut = true;
    if (pattern.matches(line)) matches.push({ number, line });
    start = end + 1;
    yield;
  }
  return { matches, isCut };
}
