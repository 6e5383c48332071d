import { defineTool, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { logScopeOf, logScopeOfAgent } from '../log-scope.js';
import { currentSession, listSessions } from '../logged-sessions.js';
import type { MemoryIndex } from '../memory-index.js';
import { agentFieldOf, noSessionsOf } from './agent-field.js';
import type { HistorySettings } from './history-config.js';
import { type IndexedLogs, searchMessages } from './search-messages.js';

/** Opens the index of the logs, where there is one. */
type OpenIndex = () => Promise<MemoryIndex | undefined>;

const page = {
  query: z.string().min(1).max(1_000).describe('Words to look for'),
  limit: z.int().min(1).max(50).default(10).describe('How many hits'),
  offset: z.int().min(0).max(1_000).default(0).describe('How many hits to skip'),
};

export function sessionSearchTool(settings: HistorySettings, open: OpenIndex): Tool {
  return defineTool({
    name: 'session_search',
    description:
      'Searches the complete logs of all your sessions with this user, ranked. Read around a hit with session_history.',
    readOnly: true,
    input: z.strictObject({ ...agentFieldOf(settings), ...page }),
    async execute({ agentId, query, limit, offset }, context: ToolContext) {
      const sessions = await listSessions(context, agentId);
      if (sessions.length === 0) return noSessionsOf(agentId, context);
      const logs = await logsBelow(logScopeOfAgent(context, agentId)?.prefix, context, open);
      return searchMessages(query, sessions, { limit, offset, signal: context.signal }, settings, logs);
    },
  });
}

export function queryHistoryTool(settings: HistorySettings, open: OpenIndex): Tool {
  return defineTool({
    name: 'query_history',
    description:
      'Searches the complete log of the current session, ranked, also what was compacted away. Read around a hit with session_history.',
    readOnly: true,
    input: z.strictObject({
      ...page,
      range: z
        .strictObject({ from: z.int().min(1).optional(), to: z.int().min(1).optional() })
        .optional()
        .describe('Numbers of the first and last message to search'),
    }),
    async execute({ query, range, limit, offset }, context: ToolContext) {
      const options = { ...range, limit, offset, signal: context.signal };
      const logs = await logsBelow(logScopeOf(context)?.prefix, context, open);
      return searchMessages(query, [currentSession(context)], options, settings, logs);
    },
  });
}

async function logsBelow(
  prefix: string | undefined,
  { workspace }: ToolContext,
  open: OpenIndex,
): Promise<IndexedLogs | undefined> {
  const index = prefix === undefined ? undefined : await open();
  return index === undefined || prefix === undefined ? undefined : { index, workspace, prefix };
}
