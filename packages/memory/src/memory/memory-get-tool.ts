import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { isMemoryPath, readIfFound } from '../memory-files.js';
import { cut } from '../message-text.js';
import type { MemorySettings } from './memory-config.js';
import { memoryPrefix } from './memory-prefix.js';

export function memoryGetTool(settings: MemorySettings): Tool {
  return defineTool({
    name: 'memory_get',
    description: 'Reads lines of MEMORY.md or of a note below memory/.',
    readOnly: true,
    input: z.strictObject({
      path: z.string().min(1).describe('As memory_search gives it, for example memory/2026-01-31.md'),
      startLine: z.int().min(1).default(1),
      endLine: z.int().min(1).optional().describe('Default: as far as an answer may reach'),
    }),
    async execute({ path, startLine, endLine = Number.POSITIVE_INFINITY }, context: ToolContext) {
      if (!isMemoryPath(path)) return `${path} is no memory file: MEMORY.md, or Markdown below memory/.`;
      const text = await readIfFound(context.workspace, `${memoryPrefix(context)}${path}`);
      if (text === undefined) return `There is no ${path}.`;
      const all = text.split(/\r\n|\n|\r/);
      if (all.at(-1) === '') all.pop();
      const lines: string[] = [];
      let chars = 0;
      for (let number = startLine; number <= Math.min(endLine, all.length); number++) {
        const line = `${number}| ${cut(all[number - 1] ?? '', settings.maxOutputChars - 100)}`;
        chars += line.length + 1;
        if (lines.length > 0 && chars > settings.maxOutputChars) break;
        lines.push(line);
      }
      if (lines.length === 0) return `${path} has ${all.length} lines.`;
      const last = startLine + lines.length - 1;
      const more = last < Math.min(endLine, all.length) ? `\nMore: startLine ${last + 1}.` : '';
      return `${path}, lines ${startLine} to ${last} of ${all.length}\n${lines.join('\n')}${more}`;
    },
  });
}
