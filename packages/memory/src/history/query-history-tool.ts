import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { logScopeOf } from '../log-scope.js';
import { currentSession } from '../logged-sessions.js';
import type { MemoryIndex } from '../memory-index.js';
import type { HistorySettings } from './history-config.js';
import { searchIndexedMessages } from './search-indexed-messages.js';
import { searchMessages } from './search-messages.js';

export function queryHistoryTool(
  settings: HistorySettings,
  open: () => Promise<MemoryIndex | undefined>,
): Tool {
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
      const sessions = [currentSession(context)];
      // A range is a part of one log: reading that is as quick.
      const index = range === undefined ? await open() : undefined;
      const prefix = logScopeOf(context)?.prefix;
      if (index !== undefined && prefix !== undefined) {
        const logs = { workspace: context.workspace, prefix, sessions };
        return searchIndexedMessages(index, query, logs, options, settings);
      }
      return searchMessages(query, sessions, options, settings);
    },
  });
}
