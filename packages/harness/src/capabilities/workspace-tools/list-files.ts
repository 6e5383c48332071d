import { defineTool, type Tool, type WorkspaceEntry } from '@x/core';
import * as z from 'zod';
import { walk } from './walk.js';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

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
        lines.push(entryLine(entry));
      }
      return lines.length === 0
        ? `[${path || 'the workspace'} is empty or does not exist]`
        : lines.join('\n');
    },
  });
}

function entryLine({ path, type, size }: WorkspaceEntry): string {
  return type === 'directory' ? `${path}/` : `${path} ${size}`;
}
