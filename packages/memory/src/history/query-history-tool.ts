import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { currentSession } from '../logged-sessions.js';
import type { HistorySettings } from './history-config.js';
import { searchMessages } from './search-messages.js';

export function queryHistoryTool(settings: HistorySettings): Tool {
  return defineTool({
    name: 'query_history',
    description:
      'Searches the complete log of the current session, ranked, also what was compacted away. Read around a hit with session_history.',
    readOnly: true,
    input: z.strictObject({
      query: z.string().min(1).max(1_000).describe('Words to look for'),
      range: z
        .strictObject({ from: z.int().min(1).optional(), to: z.int().min(1).optional() })
        .optional()
        .describe('Numbers of the first and last message to search'),
      limit: z.int().min(1).max(50).default(10).describe('How many hits'),
      offset: z.int().min(0).default(0).describe('How many hits to skip'),
    }),
    async execute({ query, range, limit, offset }, context: ToolContext) {
      const options = { ...range, limit, offset, signal: context.signal };
      return searchMessages(query, [currentSession(context)], options, settings);
    },
  });
}
