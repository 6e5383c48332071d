import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import type { MemoryIndex } from '../memory-index.js';
import { MemoryIndexError } from '../memory-index-error.js';
import { cut } from '../message-text.js';
import type { MemorySettings } from './memory-config.js';
import { memoryPrefix } from './memory-prefix.js';

const MAX_LINE = 500;
/** Checked when it is used: as JSON Schema, the pattern of a date is half a page. */
const day = z
  .string()
  .max(10)
  .refine((text) => z.iso.date().safeParse(text).success, 'must be a date, as 2026-01-31');

export function memorySearchTool(settings: MemorySettings, open: () => Promise<MemoryIndex>): Tool {
  return defineTool({
    name: 'memory_search',
    description:
      'Searches what you remember of earlier sessions (MEMORY.md and the daily notes), ranked. Read around a hit with memory_get.',
    readOnly: true,
    input: z.strictObject({
      query: z.string().min(1).max(1_000).describe('Words to look for'),
      limit: z.int().min(1).max(50).default(10).describe('How many lines'),
      offset: z.int().min(0).max(1_000).default(0).describe('How many lines to skip'),
      since: day.optional().describe('Only notes of this day or later, as 2026-01-31'),
      until: day.optional().describe('Only notes of this day or earlier'),
    }),
    async execute({ query, limit, offset, since, until }, context: ToolContext) {
      const prefix = memoryPrefix(context);
      const index = await open();
      const search = async () => {
        const stale = await index.update(context.workspace, { prefix });
        const options = { limit: limit + 1, offset, prefix, since, until, sources: ['memory'] as const };
        return { hits: await index.search(query, options), stale };
      };
      const { hits, stale } = await search().catch((error: unknown) => {
        // A damaged index has been made anew by now: once more, from the files.
        if (MemoryIndexError.isInstance(error)) return search();
        throw error;
      });
      const lines: string[] = [];
      let chars = 0;
      for (const hit of hits.slice(0, limit)) {
        const line = `${hit.path.slice(prefix.length)}:${hit.lineNumber}: ${cut(hit.content, MAX_LINE)}`;
        chars += line.length + 1;
        if (lines.length > 0 && chars > settings.maxOutputChars) break;
        lines.push(line);
      }
      const more =
        lines.length < hits.length ? `\nMore: the same query with offset ${offset + lines.length}.` : '';
      const warning =
        stale === undefined ? '' : `The index is not up to date, so newer notes may be missing: ${stale}\n`;
      return `${warning}${lines.length === 0 ? 'Nothing found.' : `${lines.join('\n')}${more}`}`;
    },
  });
}
