import { estimateCounter, type Workspace } from '@x/core';
import { UNCONFIRMED } from '@x/core/internal';
import type { Core } from '../facts/core-file.js';
import { CUT_MARK, readIfFound } from '../memory-files.js';
import { bulletsOf, factKey, factKeys, hashIn, keyHash, type NoteLine, parseNoteLine } from '../notes.js';

/** Length of a day in a file name. */
const DAY = '2026-01-31'.length;
const DAILY = /^\d{4}-\d\d-\d\d\.md$/;

/** A line of a note that has not been merged yet. */
export interface FreshLine extends NoteLine {
  /** The day of the note, `YYYY-MM-DD`. */
  readonly day: string;
  /** The note's name and the hash of the line's key. */
  readonly from: string;
}

/** Notes to merge. */
export interface FreshNotes {
  readonly lines: readonly FreshLine[];
  /** Number of lines that were read, including those without new facts. */
  readonly read: number;
  /** The {@link FreshLine.from} of all lines that count as processed after `lines` have been merged, also of those processed earlier. */
  readonly seen: readonly string[];
  /** Whether there are more lines than fit into one round. */
  readonly more: boolean;
}

/** Returns the names of all daily notes in a folder (which ends with `/`), oldest first. */
export async function dailyNotes(workspace: Workspace, folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { path, type } of workspace.list(folder.slice(0, -1))) {
    const name = path.slice(folder.length);
    if (type === 'file' && DAILY.test(name)) names.push(name);
  }
  return names.sort();
}

/** Returns the bullets of a note, except unconfirmed ones and a last line that is incomplete. */
function linesOf(name: string, note: string): readonly FreshLine[] {
  const day = name.slice(0, -'.md'.length);
  const whole = note.slice(0, note.lastIndexOf('\n') + 1);
  return bulletsOf(whole)
    .filter(({ text }) => !text.endsWith(CUT_MARK) && !text.startsWith(UNCONFIRMED))
    .map(({ whole: line, text, key }) => ({
      ...parseNoteLine(line),
      text,
      day,
      from: `${name} ${keyHash(key)}`,
    }));
}

/**
 * Returns the new lines of the daily notes, oldest first, up to about `maxTokens`. Lines are compared by content, so lines that were added
 * late or changed are found. Facts that were retired or forgotten since are skipped.
 */
export async function freshNotes(
  workspace: Workspace,
  prefix: string,
  { text, state }: Core,
  maxTokens: number,
): Promise<FreshNotes> {
  const folder = `${prefix}memory/`;
  const known = factKeys(text);
  const sources = new Set(state.facts.flatMap(({ from }) => from.map(hashIn)));
  const considered = new Set(state.seen);
  const lines: FreshLine[] = [];
  const seen = new Set<string>();
  let rest = maxTokens;
  let read = 0;
  let more = false;
  for (const name of await dailyNotes(workspace, folder)) {
    for (const line of linesOf(name, (await readIfFound(workspace, `${folder}${name}`)) ?? '')) {
      const { from, text: words, saidOn = line.day } = line;
      if (considered.has(from)) seen.add(from);
      if (seen.has(from)) continue;
      rest -= estimateCounter.count(words);
      more ||= rest < 0 && read > 0;
      if (more) continue;
      read++;
      seen.add(from);
      const key = factKey(words);
      const goneOn = state.gone[hashIn(from)];
      const isGone = goneOn !== undefined && saidOn <= goneOn.slice(0, DAY);
      if (key === '' || known.has(key) || sources.has(hashIn(from)) || isGone) continue;
      known.add(key);
      lines.push(line);
    }
  }
  return { lines, read, seen: [...seen], more };
}

/** Tests whether all lines of a note have been processed. */
export function isMerged(name: string, note: string, seen: ReadonlySet<string>): boolean {
  return note.endsWith('\n') && linesOf(name, note).every(({ from }) => seen.has(from));
}
