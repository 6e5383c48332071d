import { defineTool, type Tool, type ToolContext } from '@x/core';
import { z } from 'zod';
import { findSession } from '../logged-sessions.js';
import type { HistorySettings } from './history-config.js';
import { type NumberedMessage, numbered, renderNewest } from './numbered-message.js';

export function sessionHistoryTool(settings: HistorySettings): Tool {
  return defineTool({
    name: 'session_history',
    description:
      'Reads messages of one of your sessions from its complete log, also those that were compacted away. Page back with "before".',
    readOnly: true,
    input: z.strictObject({
      sessionId: z.string().min(1).describe('An id from session_list or session_search'),
      lastN: z.int().min(1).max(200).default(20).describe('How many messages'),
      before: z.int().min(1).optional().describe('Only messages before this number; default: up to the last'),
    }),
    async execute({ sessionId, lastN, before = Number.POSITIVE_INFINITY }, context: ToolContext) {
      const session = await findSession(context, sessionId);
      if (session === undefined) {
        return `There is no session ${JSON.stringify(sessionId)}. session_list names those there are.`;
      }
      const last: NumberedMessage[] = [];
      for await (const entry of numbered(session.read())) {
        if (entry.number >= before) break;
        last.push(entry);
        if (last.length > lastN) last.shift();
      }
      if (last.length === 0) return 'There are no such messages.';
      const { text, left } = renderNewest(last, settings);
      const first = last[left]?.number ?? 1;
      const more = first > 1 ? `Earlier messages: session_history with before ${first}.\n\n` : '';
      return `Session ${JSON.stringify(session.id)}, log ${session.location}\n${more}${text}`;
    },
  });
}
