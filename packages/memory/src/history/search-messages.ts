import { Bm25Scan } from '../index/bm25-scan.js';
import { parseQuery } from '../index/search-query.js';
import type { LoggedSession } from '../logged-sessions.js';
import { excerpt, searchableText } from '../message-text.js';
import type { HistorySettings } from './history-config.js';
import { heading, numbered } from './numbered-message.js';

const EXCERPT_CHARS = 300;

export interface SearchOptions {
  readonly limit: number;
  readonly offset: number;
  /** Numbers of the first and last message to consider. */
  readonly from?: number | undefined;
  readonly to?: number | undefined;
  readonly signal: AbortSignal;
}

/** Searches the logs of sessions, and answers the best hits as text. */
export async function searchMessages(
  query: string,
  sessions: readonly LoggedSession[],
  options: SearchOptions,
  settings: HistorySettings,
): Promise<string> {
  const { limit, offset, from = 1, to = Number.POSITIVE_INFINITY, signal } = options;
  const { terms } = parseQuery(query);
  if (terms.length === 0) return 'The query has no word to search for.';
  const scan = new Bm25Scan<string>(terms);
  // The last changed session comes last, so that of equal hits its are the first.
  for (const session of sessions.toReversed()) {
    signal.throwIfAborted();
    for await (const entry of numbered(session.read())) {
      if (entry.number < from) continue;
      if (entry.number > to) break;
      const text = searchableText(entry.message);
      scan.add(
        text,
        () =>
          `session ${JSON.stringify(session.id)} ${heading(entry)}\n${excerpt(text, terms, EXCERPT_CHARS)}`,
      );
    }
  }
  const hits: string[] = [];
  let chars = 0;
  for (const hit of scan.best(limit, offset)) {
    chars += hit.length + 2;
    if (hits.length > 0 && chars > settings.maxOutputChars) break;
    hits.push(hit);
  }
  if (hits.length === 0) return 'Nothing found.';
  const shown = offset + hits.length;
  const more = shown < scan.matched ? ` More: the same query with offset ${shown}.` : '';
  return `${scan.matched} messages match; ${offset + 1} to ${shown}, the best first.${more}\n\n${hits.join('\n\n')}`;
}
