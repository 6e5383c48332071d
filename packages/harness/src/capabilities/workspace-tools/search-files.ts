import {
  defineTool,
  errorText,
  headOf,
  InvalidInputError,
  readText,
  runTimed,
  TimeLimitError,
  type Tool,
  type Workspace,
  type WorkspaceEntry,
  WorkspaceError,
} from '@x/core';
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

/** The files below a directory. */
async function* filesIn(
  workspace: Workspace,
  path: string,
  ignore: ReadonlySet<string>,
): AsyncGenerator<string> {
  for await (const entry of walk(workspace, path, ignore)) if (entry.type === 'file') yield entry.path;
}

/**
 * All entries below `path`, depth first and sorted, stepping over directories with an ignored name, and into none that a link leads back to.
 *
 * @param above The directories that it is in, by the paths where they really lie.
 */
async function* walk(
  workspace: Workspace,
  path: string,
  ignore: ReadonlySet<string>,
  above: readonly string[] = [],
): AsyncGenerator<WorkspaceEntry> {
  const { path: real } = (await workspace.identify?.(path)) ?? { path };
  if (above.includes(real)) return;
  for await (const entry of workspace.list(path)) {
    if (entry.type === 'file') yield entry;
    else if (!ignore.has(entry.path.slice(entry.path.lastIndexOf('/') + 1))) {
      yield entry;
      yield* walk(workspace, entry.path, ignore, [...above, real]);
    }
  }
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
    async execute({ path, recursive }, { workspace }) {
      const entries = recursive ? walk(workspace, path, new Set(ignore)) : workspace.list(path);
      const lines: string[] = [];
      for await (const entry of entries) {
        if (lines.length === maxEntries) {
          lines.push(`[only the first ${maxEntries} entries; list a subdirectory, or use glob_files]`);
          break;
        }
        lines.push(entry.type === 'directory' ? `${entry.path}/` : `${entry.path} ${entry.size}`);
      }
      return lines.length === 0
        ? `[${path || 'the workspace'} is empty or does not exist]`
        : lines.join('\n');
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
    async execute({ pattern, path }, { workspace }) {
      const prefix = path.replace(/^\/+|\/+$/g, '');
      const from = prefix === '' ? 0 : prefix.length + 1;
      const found: string[] = [];
      for await (const file of fitting(filesIn(workspace, path, new Set(ignore)), 'pattern', pattern, {
        from,
      })) {
        if (found.length === maxEntries) {
          found.push(`[only the first ${maxEntries} matches; use a narrower pattern]`);
          break;
        }
        found.push(file);
      }
      return found.length === 0 ? `[no file matches ${pattern}]` : found.join('\n');
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
    async execute({ pattern, path, glob, ignoreCase }, { workspace, signal }) {
      const search = lineSearch(pattern, ignoreCase ? 'iu' : 'u');
      const all = files(workspace, path, new Set(ignore));
      const wanted = glob ? fitting(all, 'glob', glob, { basename: !glob.includes('/') }) : all;
      const found: string[] = [];
      for await (const file of wanted) {
        signal.throwIfAborted();
        const text = await readIfAllowed(workspace, file);
        if (text === undefined || text.includes('\0')) continue;
        const lines = text.split('\n');
        for (const index of search(lines, file)) {
          if (found.length === maxMatches) {
            found.push(`[only the first ${maxMatches} matches; use a narrower pattern, path or glob]`);
            return found.join('\n');
          }
          found.push(`${file}:${index + 1}: ${headOf(lines[index]?.trim() ?? '', MAX_LINE_CHARS)}`);
        }
      }
      return found.length === 0 ? `[no line matches ${pattern}]` : found.join('\n');
    },
  });
}

/** A search passes over what it may not read, unless that is all it was asked for. */
async function readIfAllowed(workspace: Workspace, file: string): Promise<string | undefined> {
  try {
    return await readText(workspace, file);
  } catch (error) {
    if (WorkspaceError.isInstance(error) && error.code === 'refused') return undefined;
    throw error;
  }
}

async function* files(
  workspace: Workspace,
  path: string,
  ignore: ReadonlySet<string>,
): AsyncGenerator<string> {
  const entry = path === '' ? undefined : await workspace.stat(path);
  if (entry?.type === 'file') {
    yield entry.path;
    return;
  }
  for await (const { type, path: file, size } of walk(workspace, path, ignore)) {
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
