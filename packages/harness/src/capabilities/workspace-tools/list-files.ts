import {
  defineTool,
  InvalidInputError,
  runTimed,
  TimeLimitError,
  type Tool,
  type Workspace,
  type WorkspaceEntry,
} from '@x/core';
import picomatch from 'picomatch';
import * as z from 'zod';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

const PATTERN_TIMEOUT_MS = 1_000;
/** Paths that are held against a pattern at once. */
const BATCH = 256;

/** Runs what tries a pattern of a model's. @throws {InvalidInputError} when it takes too long, naming the argument. */
export function tryPattern<Value>(argument: string, advice: string, task: () => Value): Value {
  try {
    return runTimed(PATTERN_TIMEOUT_MS, task);
  } catch (error) {
    if (!TimeLimitError.isInstance(error)) throw error;
    const message = `takes more than ${PATTERN_TIMEOUT_MS} ms; ${advice}`;
    throw new InvalidInputError('input of the tool', [{ path: argument, message }]);
  }
}

/** The paths that fit a glob of a model's; from a place on, where all begin alike. */
export async function* fitting(
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
export async function* walk(
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
