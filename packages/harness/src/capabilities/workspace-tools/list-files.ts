import { defineTool, type Tool, type Workspace, type WorkspaceEntry } from '@x/core';
import picomatch from 'picomatch';
import * as z from 'zod';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

/** All entries below `path`, depth first and sorted, stepping over directories with an ignored name. */
export async function* walk(
  workspace: Workspace,
  path: string,
  ignore: ReadonlySet<string>,
): AsyncGenerator<WorkspaceEntry> {
  for await (const entry of workspace.list(path)) {
    if (entry.type === 'file') yield entry;
    else if (!ignore.has(entry.path.slice(entry.path.lastIndexOf('/') + 1))) {
      yield entry;
      yield* walk(workspace, entry.path, ignore);
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
      const matches = picomatch(pattern, { dot: true });
      const prefix = path.replace(/^\/+|\/+$/g, '');
      const found: string[] = [];
      for await (const entry of walk(workspace, path, new Set(ignore))) {
        if (entry.type !== 'file') continue;
        const relative = prefix === '' ? entry.path : entry.path.slice(prefix.length + 1);
        if (!matches(relative)) continue;
        if (found.length === maxEntries) {
          found.push(`[only the first ${maxEntries} matches; use a narrower pattern]`);
          break;
        }
        found.push(entry.path);
      }
      return found.length === 0 ? `[no file matches ${pattern}]` : found.join('\n');
    },
  });
}
