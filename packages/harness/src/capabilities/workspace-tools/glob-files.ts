import { defineTool, type Tool } from '@x/core';
import picomatch from 'picomatch';
import * as z from 'zod';
import { walk } from './walk.js';
import type { WorkspaceToolsSettings } from './workspace-tools-config.js';

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
