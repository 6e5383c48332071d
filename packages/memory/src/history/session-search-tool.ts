import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { logScopeOfAgent } from '../log-scope.js';
import { listSessions } from '../logged-sessions.js';
import type { MemoryIndex } from '../memory-index.js';
import { agentFieldOf } from './agent-field.js';
import type { HistorySettings } from './history-config.js';
import { noSessionsOf } from './no-sessions-of.js';
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
      ...agentFieldOf(settings),
      query: z.string().min(1).max(1_000).describe('Words to look for'),
      limit: z.int().min(1).max(50).default(10).describe('How many hits'),
      offset: z.int().min(0).default(0).describe('How many hits to skip'),
    }),
    async execute({ agentId, query, limit, offset }, context: ToolContext) {
      const sessions = await listSessions(context, agentId);
      if (sessions.length === 0) return noSessionsOf(agentId, context);
      const options = { limit, offset, signal: context.signal };
      const index = await open();
      const prefix = logScopeOfAgent(context, agentId)?.prefix;
      if (index !== undefined && prefix !== undefined) {
        const logs = { workspace: context.workspace, prefix, sessions };
        return searchIndexedMessages(index, query, logs, options, settings);
      }
      return searchMessages(query, sessions, options, settings);
    },
  });
}
