import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import type { MemoryIndex } from '../memory-index.js';
import { cut } from '../message-text.js';
import type { MemorySettings } from './memory-config.js';
import { memoryPrefix } from './memory-prefix.js';

const MAX_LINE = 500;

export function memorySearchTool(settings: MemorySettings, open: () => Promise<MemoryIndex>): Tool {
  return defineTool({
    name: 'memory_search',
    description:
      'Searches what you remember of earlier sessions (MEMORY.md and the daily notes), ranked. Read around a hit with memory_get.',
    readOnly: true,
    input: z.strictObject({
      query: z.string().min(1).max(1_000).describe('Words to look for'),
      limit: z.int().min(1).max(50).default(10).describe('How many lines'),
    }),
    async execute({ query, limit }, context: ToolContext) {
      const prefix = memoryPrefix(context);
      const index = await open();
      // Files may have been changed by anybody since; those that were not cost their reading alone.
      await index.indexAllFromWorkspace(context.workspace, { prefix });
      const lines: string[] = [];
      let chars = 0;
      for (const hit of await index.search(query, { limit, prefix })) {
        const line = `${hit.path.slice(prefix.length)}:${hit.lineNumber}: ${cut(hit.content, MAX_LINE)}`;
        chars += line.length + 1;
        if (lines.length > 0 && chars > settings.maxOutputChars) break;
        lines.push(line);
      }
      return lines.join('\n') || 'Nothing found.';
    },
  });
}
