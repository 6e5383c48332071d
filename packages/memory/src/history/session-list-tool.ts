import { defineTool, type Tool, type ToolContext } from '@x/core';
import * as z from 'zod';
import { type LoggedSession, listSessions } from '../logged-sessions.js';
import { excerpt, messageText } from '../message-text.js';
import { agentFieldOf, noSessionsOf } from './agent-field.js';
import type { HistorySettings } from './history-config.js';

/** Messages looked at for the one that a session began with. */
const OPENING = 10;

export function sessionListTool(settings: HistorySettings): Tool {
  return defineTool({
    name: 'session_list',
    description:
      'Lists your sessions with this user, the current one first, then the most recent: id, time of the last change, and how it began.',
    readOnly: true,
    input: z.strictObject({
      ...agentFieldOf(settings),
      limit: z.int().min(1).max(100).default(20).describe('How many sessions'),
      offset: z.int().min(0).default(0).describe('How many to skip'),
    }),
    async execute({ agentId, limit, offset }, context: ToolContext) {
      const sessions = await listSessions(context, agentId);
      if (sessions.length === 0) return noSessionsOf(agentId, context);
      const lines: string[] = [];
      let chars = 0;
      for (const session of sessions.slice(offset, offset + limit)) {
        const line = await describe(session);
        chars += line.length + 1;
        if (lines.length > 0 && chars > settings.maxOutputChars) break;
        lines.push(line);
      }
      const shown = offset + lines.length;
      const more = shown < sessions.length ? `\nMore: session_list with offset ${shown}.` : '';
      return `${sessions.length} sessions.\n${lines.join('\n')}${more}`;
    },
  });
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
