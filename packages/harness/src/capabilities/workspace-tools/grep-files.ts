import {
  defineTool,
  errorText,
  headOf,
  InvalidInputError,
  readText,
  type Tool,
  type Workspace,
  WorkspaceError,
} from '@x/core';
import * as z from 'zod';
import { fitting, tryPattern, walk } from './list-files.js';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

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
