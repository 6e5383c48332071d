import {
  defineTool,
  InvalidInputError,
  readText,
  TimeLimitError,
  type Tool,
  type ToolContext,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import { errorText, headOf, runTimed } from '@x/core/internal';
import type { WorkspaceEntry } from '@x/core/store';
import picomatch from 'picomatch';
import * as z from 'zod';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

const PATTERN_TIMEOUT_MS = 1_000;
/** Paths that are held against a pattern at once. */
const BATCH = 256;

/** Runs what tries a pattern of a model's. @throws {InvalidInputError} when it takes too long, naming the argument. */
function tryPattern<Value>(argument: string, advice: string, task: () => Value): Value {
  try {
    return runTimed(PATTERN_TIMEOUT_MS, task);
  } catch (error) {
    if (!TimeLimitError.isInstance(error)) throw error;
    const message = `takes more than ${PATTERN_TIMEOUT_MS} ms; ${advice}`;
    throw new InvalidInputError('input of the tool', [{ path: argument, message }]);
  }
}

/** The paths that fit a glob of a model's; from a place on, where all begin alike. */
async function* fitting(
  paths: AsyncIterable<string>,
  argument: string,
  glob: string,
  { from = 0, basename = false } = {},
): AsyncGenerator<string> {
  const timed = <Value>(task: () => Value) => tryPattern(argument, 'use fewer wildcards', task);
  const matches = timed(() => picomatch(glob, { dot: true, basename }));
  let batch: string[] = [];
  const fits = () => timed(() => batch.filter((path) => matches(path.slice(from))));
  for await (const path of paths) {
    batch.push(path);
    if (batch.length < BATCH) continue;
    yield* fits();
    batch = [];
  }
  yield* fits();
}

/** A search through a workspace. */
interface Search {
  readonly workspace: Workspace;
  readonly ignore: ReadonlySet<string>;
  readonly signal: AbortSignal;
  /** What cannot be read, and links to what is walked elsewhere, of which the answer tells. */
  readonly passedOver: string[];
  readonly linked: string[];
  /** Directories that a link has led to, or that were walked, by the paths where they really lie. */
  readonly seen: Set<string>;
}

function searchOf({ workspace, signal }: ToolContext, ignore: readonly string[]): Search {
  return { workspace, signal, ignore: new Set(ignore), passedOver: [], linked: [], seen: new Set() };
}

/** The files below a directory. */
async function* filesIn(search: Search, path: string): AsyncGenerator<string> {
  for await (const entry of walk(search, path)) if (entry.type === 'file') yield entry.path;
}

/**
 * All entries below `path`, depth first and sorted, stepping over directories with an ignored name. A link to a directory is
 * followed unless that was walked: it may lead back, and links to links lead to any number of ways. What has a name that no path
 * may have, or cannot be read, is passed over.
 *
 * @param expected Where it really lies unless it is a link.
 */
async function* walk(search: Search, path: string, expected?: string): AsyncGenerator<WorkspaceEntry> {
  const { workspace, ignore, signal, seen } = search;
  const { path: real } = (await workspace.identify?.(path)) ?? { path };
  if (expected !== undefined && real !== expected && seen.has(real)) {
    search.linked.push(`${JSON.stringify(path)} → ${JSON.stringify(real || '.')}`);
    return;
  }
  seen.add(real);
  for await (const entry of workspace.list(path)) {
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

/** Tells what one file or directory is at fault for from what ends every search, such as a server that is gone. */
function isUnreadable(error: unknown): boolean {
  return WorkspaceError.isInstance(error) && error.code !== 'workspace_io';
}

const MAX_NAMED = 10;

/** Lines that name what was passed over. */
function passedOverLines({ passedOver, linked }: Search): readonly string[] {
  const line = (what: string, named: readonly string[]) => {
    const more = named.length > MAX_NAMED ? ` and ${named.length - MAX_NAMED} more` : '';
    return named.length === 0 ? [] : [`[${what}: ${named.slice(0, MAX_NAMED).join(', ')}${more}]`];
  };
  return [
    ...line(
      'not searched, because it cannot be read',
      passedOver.map((path) => JSON.stringify(path)),
    ),
    ...line('not searched again, because a link leads to what is searched already', linked),
  ];
}

export function listFilesTool({ maxEntries, ignore }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'list_files',
    description: `Lists a directory, ${maxEntries} entries at most. Directories end with "/"; files show their size in bytes.`,
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      path: z.string().default('').describe('The directory; the root when left out'),
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
    description: `Finds files by pattern, for example "src/**/*.ts", ${maxEntries} at most.`,
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      pattern: z.string().min(1).max(1_000).describe('Relative to path'),
      path: z.string().default('').describe('The directory to search; the root when left out'),
    }),
    async execute({ pattern, path }, context) {
      const search = searchOf(context, ignore);
      const prefix = path.replace(/^\/+|\/+$/g, '');
      const from = prefix === '' ? 0 : prefix.length + 1;
      const found: string[] = [];
      for await (const file of fitting(filesIn(search, path), 'pattern', pattern, {
        from,
      })) {
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
const MAX_FILE_BYTES = 10_000_000;

export function grepFilesTool({ maxMatches, ignore }: WorkspaceToolsSettings): Tool {
  return defineTool({
    name: 'grep_files',
    description:
      `Searches files line by line with a regular expression (JavaScript), ${maxMatches} matches at most. Answers ` +
      '"path:line: text".',
    readOnly: true,
    paths: { path: 'walk' },
    input: z.strictObject({
      pattern: z.string().min(1).max(1_000),
      path: z.string().default('').describe('A file or directory; the root when left out'),
      glob: z
        .string()
        .max(1_000)
        .optional()
        .describe('Only files whose name or path matches, for example "*.ts"'),
      ignoreCase: z.boolean().default(false),
    }),
    async execute({ pattern, path, glob, ignoreCase }, context) {
      const matching = lineSearch(pattern, ignoreCase ? 'iu' : 'u');
      const search = searchOf(context, ignore);
      const all = files(search, path);
      const wanted = glob ? fitting(all, 'glob', glob, { basename: !glob.includes('/') }) : all;
      const found: string[] = [];
      for await (const file of wanted) {
        context.signal.throwIfAborted();
        const text = await readIfAllowed(search, file, file === path);
        if (text === undefined || text.includes('\0')) continue;
        const lines = text.split('\n');
        for (const index of matching(lines, file)) {
          if (found.length === maxMatches) {
            found.push(`[only the first ${maxMatches} matches; use a narrower pattern, path or glob]`);
            return [...found, ...passedOverLines(search)].join('\n');
          }
          found.push(`${file}:${index + 1}: ${headOf(lines[index]?.trim() ?? '', MAX_LINE_CHARS)}`);
        }
      }
      if (found.length === 0) found.push(`[no line matches ${pattern}]`);
      return [...found, ...passedOverLines(search)].join('\n');
    },
  });
}

/** A search passes over what it cannot read, unless that is all it was asked for. */
async function readIfAllowed(
  { workspace, passedOver }: Search,
  file: string,
  isAll: boolean,
): Promise<string | undefined> {
  try {
    return await readText(workspace, file);
  } catch (error) {
    const isRefused = WorkspaceError.isInstance(error) && error.code === 'refused';
    if (!isRefused && (isAll || !isUnreadable(error))) throw error;
    if (!isRefused) passedOver.push(file);
    return undefined;
  }
}

async function* files(search: Search, path: string): AsyncGenerator<string> {
  const entry = path === '' ? undefined : await search.workspace.stat(path);
  if (entry?.type === 'file') {
    yield entry.path;
    return;
  }
  for await (const { type, path: file, size } of walk(search, path)) {
    if (type === 'file' && size <= MAX_FILE_BYTES) yield file;
  }
}

/** Finds the indexes of matching lines. The pattern comes from a model. */
function lineSearch(
  pattern: string,
  flags: string,
): (lines: readonly string[], file: string) => readonly number[] {
  const expression = compile(pattern, flags);
  return (lines, file) =>
    tryPattern('pattern', `avoid nested repetition (${file})`, () =>
      lines.flatMap((line, index) => (expression.test(line) ? [index] : [])),
    );
}

function compile(pattern: string, flags: string): RegExp {
  try {
    return new RegExp(pattern, flags);
  } catch (error) {
    // Patterns written for other engines often escape more than the unicode mode allows.
    try {
      return new RegExp(pattern, flags.replace('u', ''));
    } catch {
      throw new InvalidInputError('input of tool grep_files', [
        { path: 'pattern', message: errorText(error) },
      ]);
    }
  }
}
