import { defineTool, estimateCounter, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { coreLock, exclusively } from '../exclusively.js';
import { redactorFor } from '../flush/flush-config.js';
import { appendLine, CORE_FILE, dailyFile, readIfFound } from '../memory-files.js';
import type { MemorySettings } from './memory-config.js';
import { memoryPrefix } from './memory-prefix.js';

export function memorySaveTool(settings: Pick<MemorySettings, 'redact' | 'maxMemoryTokens'>): Tool {
  const redact = redactorFor(settings.redact);
  return defineTool({
    name: 'memory_save',
    description:
      'Remembers a fact for later sessions: a preference, a decision and its reason, a name. One self-contained statement.',
    input: z.strictObject({
      content: z.string().trim().min(1).max(4_000).describe('What to remember'),
    }),
    async execute({ content }, context: ToolContext) {
      const prefix = memoryPrefix(context);
      const entry = `- ${redact(content).replaceAll(/\r\n|\n|\r/g, '\n  ')}`;
      // First the note: it is never rewritten, so that whoever rewrites MEMORY.md meanwhile loses nothing.
      const note = dailyFile(new Date());
      await appendLine(context.workspace, `${prefix}${note}`, entry);
      const core = `${prefix}${CORE_FILE}`;
      const fits = await exclusively(context.workspace, coreLock(prefix), async () => {
        const text = (await readIfFound(context.workspace, core)) ?? '';
        if (estimateCounter.count(`${text}\n${entry}\n`) > settings.maxMemoryTokens) return false;
        await appendLine(context.workspace, core, entry);
        return true;
      });
      if (fits) return `Saved in ${CORE_FILE} and ${note}.`;
      return `Saved in ${note}. ${CORE_FILE} is full: until notes are merged into it, memory_search finds this.`;
    },
  });
}
