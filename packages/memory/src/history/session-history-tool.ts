import { defineTool, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { currentSession, findSession, listSessions } from '../logged-sessions.js';
import { agentFieldOf, noSessionsOf } from './agent-field.js';
import type { HistorySettings } from './history-config.js';

import { type NumberedMessage, numbered, renderNewest } from './numbered-message.js';
import { wholeMessage } from './whole-message.js';

export function sessionHistoryTool(settings: HistorySettings): Tool {
  return defineTool({
    name: 'session_history',
    description:
      'Reads messages of one of your sessions from its complete log, also those that were compacted away: the last ones, ' +
      'paged back with "before", or one of them in full by "messageId" or "number".',
    readOnly: true,
    input: z.strictObject({
      ...agentFieldOf(settings),
      sessionId: z
        .string()
        .min(1)
        .optional()
        .describe('An id from session_list or session_search; default: the current session, or the last'),
      lastN: z.int().min(1).max(200).default(20).describe('How many messages'),
      before: z.int().min(1).optional().describe('Only messages before this number; default: up to the last'),
      messageId: z
        .string()
        .min(1)
        .optional()
        .describe('This message alone, in full: the id behind "log message" where something was shortened'),
      number: z.int().min(1).optional().describe('This message alone, in full: the number behind "#"'),
      offset: z.int().min(0).default(0).describe('Characters of that message to skip'),
    }),
    async execute(input, context: ToolContext) {
      const {
        agentId,
        sessionId,
        lastN,
        before = Number.POSITIVE_INFINITY,
        messageId,
        number,
        offset,
      } = input;
      const asksForCurrent = agentId === undefined && sessionId === undefined;
      const sessions = asksForCurrent ? [currentSession(context)] : await listSessions(context, agentId);
      if (sessions.length === 0) return noSessionsOf(agentId, context);
      const session = sessionId === undefined ? sessions[0] : findSession(sessions, sessionId);
      if (session === undefined) {
        const whose = agentId === undefined ? '' : ` of agent ${JSON.stringify(agentId)}`;
        return `There is no session ${JSON.stringify(sessionId)}${whose}. session_list names those there are.`;
      }
      if (messageId !== undefined || number !== undefined) {
        for await (const entry of numbered(session.read())) {
          const isWanted = messageId === undefined ? entry.number === number : entry.message.id === messageId;
          if (isWanted) return wholeMessage(entry, offset, settings);
        }
        const wanted = messageId === undefined ? `number ${number}` : `id ${JSON.stringify(messageId)}`;
        return `Session ${JSON.stringify(session.id)} has no message with the ${wanted}.`;
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
