import type { Workspace } from '@x/core';
import type { LoggedSession } from '../logged-sessions.js';
import type { MemoryHit, MemoryIndex } from '../memory-index.js';
import { MemoryIndexError } from '../memory-index-error.js';
import type { HistorySettings } from './history-config.js';
import type { SearchOptions } from './search-messages.js';

const EXCERPT_CHARS = 300;

/** The logs of one agent, as files. */
interface SessionFiles {
  readonly workspace: Workspace;
  /** Where its `sessions/` lies. */
  readonly prefix: string;
  /** Those to search. */
  readonly sessions: readonly LoggedSession[];
}

/** Searches an index of the logs, brought up to date first, and answers the best hits as text. */
export async function searchIndexedMessages(
  index: MemoryIndex,
  query: string,
  { workspace, prefix, sessions }: SessionFiles,
  options: SearchOptions,
  settings: HistorySettings,
): Promise<string> {
  const [only] = sessions;
  const search = async () => {
    if (!index.readOnly) await index.indexSessionLogs(workspace, { prefix });
    return index.search(query, {
      // Long messages are several rows: more than are wanted, and one to know whether there are others.
      limit: Math.min(1_000, 2 * (options.offset + options.limit) + 1),
      prefix,
      sources: ['sessions'],
      snippetChars: EXCERPT_CHARS,
      ...(sessions.length === 1 && only !== undefined ? { path: only.location } : {}),
    });
  };
  const rows = await search().catch((error: unknown) => {
    // A damaged index has been made anew by now: once more, from the logs.
    if (MemoryIndexError.isInstance(error)) return search();
    throw error;
  });
  return render(onePerMessage(rows), sessions, options, settings);
}

function onePerMessage(rows: readonly MemoryHit[]): MemoryHit[] {
  const best = new Map<string, MemoryHit>();
  for (const row of rows) {
    const place = `${row.lineNumber} ${row.path}`;
    if (!best.has(place)) best.set(place, row);
  }
  return [...best.values()];
}

function render(
  hits: readonly MemoryHit[],
  sessions: readonly LoggedSession[],
  { limit, offset }: SearchOptions,
  settings: HistorySettings,
): string {
  const byLocation = new Map(sessions.map((session) => [session.location, session]));
  const texts: string[] = [];
  let chars = 0;
  for (const hit of hits.slice(offset, offset + limit)) {
    const session = byLocation.get(hit.path);
    if (session === undefined) continue;
    const date = hit.date === undefined ? '' : `, ${hit.date}`;
    const place = `session ${JSON.stringify(session.id)} #${hit.lineNumber}${date}`;
    const text = `${place}\n${hit.snippet ?? ''}`;
    chars += text.length + 2;
    if (texts.length > 0 && chars > settings.maxOutputChars) break;
    texts.push(text);
  }
  if (texts.length === 0) return 'Nothing found.';
  const shown = offset + texts.length;
  const more = shown < hits.length ? ` More: the same query with offset ${shown}.` : '';
  return `${offset + 1} to ${shown}, the best first.${more}\n\n${texts.join('\n\n')}`;
}
