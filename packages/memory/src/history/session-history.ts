import { type Capability, defineTool, type Tool, type ToolContext } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { excerpt, fitting, messageText } from '../message-text.js';
import { currentSession, findSession, type LoggedSession, listSessions } from '../session-logs.js';
import { withoutUser } from '../settings.js';
import { numbered, renderNewest, searchMessages, wholeMessage } from './messages.js';

export const historyConfigSchema = z.strictObject({
  /** Maximum number of characters in one tool result. A longer result says how to get the rest. Default 20 000. */
  maxOutputChars: z.int().min(1_000).default(20_000),
  /** Maximum number of characters of one message in a result. Default 1 000. */
  maxMessageChars: z.int().min(100).default(1_000),
  /** `private` (default): a session without a user reads only itself. `shared`: it reads all sessions of the agent without a user. */
  withoutUser,
});

/** Options of `sessionHistory`. */
type SessionHistoryConfig = z.input<typeof historyConfigSchema>;

/** Number of messages in which the user's first message is searched. */
const OPENING = 10;

const id = z.string().min(1).optional();
/** A message's number. */
const place = z.int().min(1).optional();

/**
 * Tools that read the complete logs of sessions: earlier sessions, and messages that a compaction removed from the current one.
 * They read only sessions of the call's tenant, user and agent. A session without a user reads only itself, unless
 * `withoutUser` is `shared`.
 *
 * @example
 * ```ts
 * HarnessAgent.builder().use(sessionHistory());
 * ```
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export function sessionHistory(config: SessionHistoryConfig = {}): Capability {
  // Long because it declares three tools, which share the settings.
  const settings = parseWith(historyConfigSchema, config, 'sessionHistory configuration');
  const { withoutUser: sharing, maxOutputChars } = settings;
  /** Returns all sessions, or the one with the id. Returns an error text if there is no such session. */
  const sessionsOf = async (context: ToolContext, sessionId?: string): Promise<LoggedSession[] | string> => {
    const sessions = await listSessions(context, sharing);
    if (sessionId === undefined) return sessions;
    const session = findSession(sessions, sessionId);
    if (session !== undefined) return [session];
    return `There is no session ${JSON.stringify(sessionId)}. session_list returns the ids of all sessions.`;
  };
  const tools: readonly Tool[] = [
    defineTool({
      name: 'session_list',
      description:
        'Lists your sessions with this user: id, time of the last change, and first message. The current session comes first, then the newest.',
      readOnly: true,
      input: z.strictObject({
        limit: z.int().min(1).max(100).default(20).describe('How many sessions'),
        offset: z.int().min(0).default(0).describe('How many to skip'),
      }),
      async execute({ limit, offset }, context: ToolContext) {
        const sessions = await listSessions(context, sharing);
        const described = await Promise.all(sessions.slice(offset, offset + limit).map(describe));
        const lines = fitting(described, maxOutputChars);
        const shown = offset + lines.length;
        const more = shown < sessions.length ? `\nMore: session_list with offset ${shown}.` : '';
        return `${sessions.length} sessions.\n${lines.join('\n')}${more}`;
      },
    }),
    defineTool({
      name: 'session_history',
      description:
        'Reads messages of one of your sessions from its complete log, including messages that were compacted away. Returns the ' +
        'newest messages; use "before" for older ones, and "messageId" or "number" to read one in full.',
      readOnly: true,
      input: z.strictObject({
        sessionId: id.describe('An id from session_list or session_search. Default: the current session'),
        lastN: z.int().min(1).max(200).default(20).describe('How many messages'),
        before: place.describe('Only messages before this number. Default: all'),
        messageId: id.describe('Only this message, in full: the id after "log message" in a shortened text'),
        number: place.describe('Only this message, in full: the number after "#"'),
        offset: z.int().min(0).default(0).describe('Characters of that message to skip'),
      }),
      async execute(
        { sessionId, lastN, before = Infinity, messageId, number, offset },
        context: ToolContext,
      ) {
        const sessions =
          sessionId === undefined ? [currentSession(context)] : await sessionsOf(context, sessionId);
        if (typeof sessions === 'string') return sessions;
        const session = sessions[0] as LoggedSession;
        const entries = numbered(session.read());
        if (messageId !== undefined || number !== undefined) {
          for await (const entry of entries) {
            const isWanted =
              messageId === undefined ? entry.number === number : entry.message.id === messageId;
            if (isWanted) return wholeMessage(entry, offset, maxOutputChars);
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
        if (last.length === 0) return 'No messages match.';
        const { text, left } = renderNewest(last, settings);
        const first = last[left]?.number ?? 1;
        const more = first > 1 ? `Earlier messages: session_history with before ${first}.\n\n` : '';
        return `Session ${JSON.stringify(session.id)}, log ${session.location}\n${more}${text}`;
      },
    }),
    defineTool({
      name: 'session_search',
      description:
        'Searches the complete logs of your sessions with this user for what was said and done, best hits first. For facts and ' +
        'preferences use memory_search. For messages removed from this conversation use recall. To read around a hit use session_history.',
      readOnly: true,
      input: z.strictObject({
        query: z.string().min(1).max(1_000).describe('Words to search for'),
        sessionId: id.describe('Only this session. Default: all sessions'),
        limit: z.int().min(1).max(50).default(10).describe('How many hits'),
        offset: z.int().min(0).max(1_000).default(0).describe('How many hits to skip'),
      }),
      async execute({ sessionId, ...search }, context: ToolContext) {
        const sessions = await sessionsOf(context, sessionId);
        if (typeof sessions === 'string') return sessions;
        const options = { ...search, maxOutputChars, asked: askedIn(context), signal: context.signal };
        return searchMessages(sessions, options);
      },
    }),
  ];
  return { name: 'session_history', tools };
}

/** Returns the id of the user message that is being answered. */
function askedIn({ state }: ToolContext): string | undefined {
  return state.context.findLast(({ role, kind }) => role === 'user' && kind === undefined)?.id;
}

async function describe({ id, isCurrent, updatedAt = '', read }: LoggedSession): Promise<string> {
  const marks = [isCurrent ? 'current' : '', updatedAt].filter(Boolean).join(', ');
  let opening = '';
  for await (const { number, message } of numbered(read())) {
    if (message.role === 'user') opening = excerpt(messageText(message), [], 120);
    if (message.role === 'user' || number === OPENING) break;
  }
  return `- ${JSON.stringify(id)} (${marks}): ${opening}`;
}
