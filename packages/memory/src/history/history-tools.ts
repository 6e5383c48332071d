import { defineTool, type Tool, type ToolContext, type Workspace } from '@x/core';
import * as z from 'zod';
import type { LazyIndex } from '../lazy-index.js';
import { logScopeOf, logScopeOfAgent } from '../log-scope.js';
import {
  currentSession,
  findSession,
  type LoggedSession,
  listAgents,
  listSessions,
} from '../logged-sessions.js';
import type { WithoutUser } from '../memory-scope.js';
import { excerpt, fitting, messageText } from '../message-text.js';
import { numbered, renderNewest, wholeMessage } from './render-messages.js';
import { type IndexedLogs, searchMessages } from './search-messages.js';
import type { HistorySettings } from './session-history.js';

/** Agents that are named at most. */
const MAX_NAMED = 20;
/** Messages looked at for the one that a session began with. */
const OPENING = 10;

const agentField = {
  agentId: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Another agent of this user, whose sessions to use; default: your own'),
};
const page = {
  query: z.string().min(1).max(1_000).describe('Words to look for'),
  limit: z.int().min(1).max(50).default(10).describe('How many hits'),
  offset: z.int().min(0).max(1_000).default(0).describe('How many hits to skip'),
};

/** The tools of `sessionHistory()`. */
export function historyTools(settings: HistorySettings, index: LazyIndex | undefined): readonly Tool[] {
  const { withoutUser } = settings;
  // An absent field is read as `undefined`, which the type allows.
  const agent = settings.otherAgents ? agentField : ({} as typeof agentField);
  const logsBelow = (prefix: string | undefined, workspace: Workspace): IndexedLogs | undefined =>
    index === undefined || prefix === undefined ? undefined : { index, workspace, prefix };
  return [
    defineTool({
      name: 'session_list',
      description:
        'Lists your sessions with this user, the current one first, then the most recent: id, time of the last change, and how it began.',
      readOnly: true,
      input: z.strictObject({
        ...agent,
        limit: z.int().min(1).max(100).default(20).describe('How many sessions'),
        offset: z.int().min(0).default(0).describe('How many to skip'),
      }),
      async execute({ agentId, limit, offset }, context: ToolContext) {
        const sessions = await listSessions(context, withoutUser, agentId);
        if (sessions.length === 0) return noSessionsOf(agentId, context, withoutUser);
        const described: string[] = [];
        for (const session of sessions.slice(offset, offset + limit)) described.push(await describe(session));
        const lines = fitting(described, settings.maxOutputChars);
        const shown = offset + lines.length;
        const more = shown < sessions.length ? `\nMore: session_list with offset ${shown}.` : '';
        return `${sessions.length} sessions.\n${lines.join('\n')}${more}`;
      },
    }),
    defineTool({
      name: 'session_history',
      description:
        'Reads messages of one of your sessions from its complete log, also those that were compacted away: the last ones, ' +
        'paged back with "before", or one of them in full by "messageId" or "number".',
      readOnly: true,
      input: z.strictObject({
        ...agent,
        sessionId: z
          .string()
          .min(1)
          .optional()
          .describe('An id from session_list or session_search; default: the current session, or the last'),
        lastN: z.int().min(1).max(200).default(20).describe('How many messages'),
        before: z
          .int()
          .min(1)
          .optional()
          .describe('Only messages before this number; default: up to the last'),
        messageId: z
          .string()
          .min(1)
          .optional()
          .describe('This message alone, in full: the id behind "log message" where something was shortened'),
        number: z.int().min(1).optional().describe('This message alone, in full: the number behind "#"'),
        offset: z.int().min(0).default(0).describe('Characters of that message to skip'),
      }),
      async execute(
        { agentId, sessionId, lastN, before = Infinity, messageId, number, offset },
        context: ToolContext,
      ) {
        const asksForCurrent = agentId === undefined && sessionId === undefined;
        const sessions = asksForCurrent
          ? [currentSession(context)]
          : await listSessions(context, withoutUser, agentId);
        if (sessions.length === 0) return noSessionsOf(agentId, context, withoutUser);
        const session = sessionId === undefined ? sessions[0] : findSession(sessions, sessionId);
        if (session === undefined) {
          const whose = agentId === undefined ? '' : ` of agent ${JSON.stringify(agentId)}`;
          return `There is no session ${JSON.stringify(sessionId)}${whose}. session_list names those there are.`;
        }
        const entries = numbered(session.read());
        if (messageId !== undefined || number !== undefined) {
          for await (const entry of entries) {
            const isWanted =
              messageId === undefined ? entry.number === number : entry.message.id === messageId;
            if (isWanted) return wholeMessage(entry, offset, settings);
          }
          const wanted = messageId === undefined ? `number ${number}` : `id ${JSON.stringify(messageId)}`;
          return `Session ${JSON.stringify(session.id)} has no message with the ${wanted}.`;
        }
        const last = [];
        for await (const entry of entries) {
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
    }),
    defineTool({
      name: 'session_search',
      description:
        'Searches the complete logs of all your sessions with this user, ranked. Read around a hit with session_history.',
      readOnly: true,
      input: z.strictObject({ ...agent, ...page }),
      async execute({ agentId, query, limit, offset }, context: ToolContext) {
        const sessions = await listSessions(context, withoutUser, agentId);
        if (sessions.length === 0) return noSessionsOf(agentId, context, withoutUser);
        const logs = logsBelow(logScopeOfAgent(context, withoutUser, agentId)?.prefix, context.storage);
        return searchMessages(query, sessions, { limit, offset, signal: context.signal }, settings, logs);
      },
    }),
    defineTool({
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
        const logs = logsBelow(logScopeOf(context)?.prefix, context.storage);
        return searchMessages(query, [currentSession(context)], options, settings, logs);
      },
    }),
  ];
}

/** The answer where an agent has no sessions with this user: it names those that have. */
async function noSessionsOf(
  agentId: string | undefined,
  context: ToolContext,
  withoutUser: WithoutUser,
): Promise<string> {
  const agents = await listAgents(context, withoutUser, MAX_NAMED + 1);
  const names = agents.slice(0, MAX_NAMED).map((agent) => JSON.stringify(agent));
  const more = agents.length > MAX_NAMED ? ' and others' : '';
  const known = names.length === 0 ? '' : ` These agents have some: ${names.join(', ')}${more}.`;
  return `There are no sessions of agent ${JSON.stringify(agentId)} with this user.${known}`;
}

async function describe(session: LoggedSession): Promise<string> {
  const marks = [session.isCurrent ? 'current' : '', session.updatedAt ?? ''].filter(Boolean).join(', ');
  return `- ${JSON.stringify(session.id)} (${marks}): ${await opening(session)}`;
}

async function opening(session: LoggedSession): Promise<string> {
  let looked = 0;
  for await (const message of session.read()) {
    if (message.role === 'user') return excerpt(messageText(message), [], 120);
    if (++looked === OPENING) break;
  }
  return '';
}
