import type { Workspace } from '@x/core';
import { dateOf, dayOf } from '../index/dates.js';
import { LineScan } from '../index/line-scan.js';
import { parseQuery } from '../index/search-query.js';
import type { MemoryIndex } from '../memory-index.js';
import { excerpt, fitting, searchableText } from '../message-text.js';
import type { LoggedSession } from '../session-logs.js';
import { numbered } from './render-messages.js';

const EXCERPT_CHARS = 300;

interface SearchOptions {
  readonly query: string;
  readonly limit: number;
  readonly offset: number;
  /** Numbers of the first and last message to consider. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly maxOutputChars: number;
  readonly signal: AbortSignal;
}

/** An index of the logs of one agent, and where its `sessions/` lies. */
interface IndexedLogs {
  readonly index: MemoryIndex;
  readonly workspace: Workspace;
  readonly prefix: string;
}

interface MessageHit {
  readonly session: LoggedSession;
  readonly number: number;
  readonly date: string | undefined;
  readonly excerpt: string;
}

/** The hits of a page and one more, to know whether there are others; and why newer ones may be missing. */
interface Found {
  readonly hits: readonly MessageHit[];
  readonly stale?: string | undefined;
}

/** Searches the logs of sessions, through an index where there is one, and answers the best messages as text. */
export async function searchMessages(
  sessions: readonly LoggedSession[],
  options: SearchOptions,
  logs?: IndexedLogs,
): Promise<string> {
  const { query, limit, offset, maxOutputChars } = options;
  if (parseQuery(query).terms.length === 0) return 'The query has no word to search for.';
  const { hits, stale } = await (logs ? findIndexed(sessions, options, logs) : scan(sessions, options));
  const rendered = hits.slice(0, limit).map(({ session, number, date, excerpt: text }) => {
    const day = date === undefined ? '' : `, ${date}`;
    return `session ${JSON.stringify(session.id)} #${number}${day}\n${text}`;
  });
  const texts = fitting(rendered, maxOutputChars, '\n\n');
  const warning =
    stale === undefined ? '' : `The index is not up to date, so newer messages may be missing: ${stale}\n\n`;
  if (texts.length === 0) return `${warning}Nothing found.`;
  const shown = offset + texts.length;
  const more = texts.length < hits.length ? ` More: the same query with offset ${shown}.` : '';
  return `${warning}${offset + 1} to ${shown}, the best first.${more}\n\n${texts.join('\n\n')}`;
}

async function scan(
  sessions: readonly LoggedSession[],
  { query, limit, offset, from = 1, to = Infinity, signal }: SearchOptions,
): Promise<Found> {
  const parsed = parseQuery(query);
  const lines = new LineScan<MessageHit>(parsed);
  // The last changed session comes last, so that of equal hits its are the first.
  for (const session of sessions.toReversed()) {
    signal.throwIfAborted();
    for await (const { number, message } of numbered(session.read())) {
      if (number < from) continue;
      if (number > to) break;
      const day = dayOf(message.createdAt) ?? null;
      const date = day === null ? undefined : dateOf(day);
      const text = searchableText(message);
      lines.add({ file: session.location, number, day, text }, (piece) => ({
        session,
        number,
        date,
        excerpt: excerpt(piece, parsed.terms, EXCERPT_CHARS),
      }));
    }
  }
  return { hits: lines.best().slice(offset, offset + limit + 1) };
}

async function findIndexed(
  sessions: readonly LoggedSession[],
  { query, limit, offset }: SearchOptions,
  { index, workspace, prefix }: IndexedLogs,
): Promise<Found> {
  const { hits, stale } = await index.searchFresh(workspace, { prefix, logs: true }, query, {
    limit: limit + 1,
    offset,
    snippetChars: EXCERPT_CHARS,
    ...(sessions.length === 1 ? { path: sessions[0]?.location } : {}),
  });
  const byLocation = new Map(sessions.map((session) => [session.location, session]));
  return {
    hits: hits.flatMap(({ path, lineNumber, date, snippet = '' }) => {
      const session = byLocation.get(path);
      return session === undefined ? [] : [{ session, number: lineNumber, date, excerpt: snippet }];
    }),
    stale,
  };
}
