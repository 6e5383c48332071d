import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { listSessions } from '../logged-sessions.js';
import type { MemoryIndex } from '../memory-index.js';
import type { HistorySettings } from './history-config.js';
import { searchIndexedMessages } from './search-indexed-messages.js';
import { searchMessages } from './search-messages.js';

export function sessionSearchTool(
  settings: HistorySettings,
  open: () => Promise<MemoryIndex | undefined>,
): Tool {
  return defineTool({
    name: 'session_search',
    description:
      'Searches the complete logs of all your sessions with this user, ranked. Read around a hit with session_history.',
    readOnly: true,
    input: z.strictObject({
      query: z.string().min(1).max(1_000).describe('Words to look for'),
      limit: z.int().min(1).max(50).default(10).describe('How many hits'),
      offset: z.int().min(0).default(0).describe('How many hits to skip'),
    }),
    async execute({ query, limit, offset }, context: ToolContext) {
      const sessions = await listSessions(context);
      const options = { limit, offset, signal: context.signal };
      const index = await open();
      if (index !== undefined) {
        const found = await searchIndexedMessages(index, query, sessions, context, options, settings);
        if (found !== undefined) return found;
      }
      return searchMessages(query, sessions, options, settings);
    },
  });
}
