import { estimateCounter, type Workspace } from '@x/core';
import { CUT_MARK } from '../flush/flush-state.js';
import { readIfFound } from '../memory-files.js';
import { bulletsOf, factKey, factKeys, keyHash, type NoteLine, parseNoteLine } from '../notes.js';
import type { Core } from './core-file.js';

/** Characters of a day. */
const DAY = '2026-01-31'.length;
const DAILY = /^\d{4}-\d\d-\d\d\.md$/;

/** A line of a note that has not been merged yet. */
export interface FreshLine extends NoteLine {
  /** Of the note, `YYYY-MM-DD`. */
  readonly day: string;
  /** The note's name and the hash of the line's key. */
  readonly from: string;
}

/** Notes to merge. */
export interface FreshNotes {
  readonly lines: readonly FreshLine[];
  /** How many were read, also those that say nothing new. */
  readonly read: number;
  /** By their {@link FreshLine.from}, all lines that have been considered once these are merged. */
  readonly seen: readonly string[];
  /** Keys of facts whose line a person took out of its note, or changed. */
  readonly withdrawn: readonly string[];
  /** Whether there is more than could be taken at once. */
  readonly more: boolean;
}

/** The names of all daily notes in a folder, which ends with `/`, oldest first. */
export async function dailyNotes(workspace: Workspace, folder: string): Promise<string[]> {
  const names: string[] = [];
  for await (const { path, type } of workspace.list(folder.slice(0, -1))) {
    const name = path.slice(folder.length);
    if (type === 'file' && DAILY.test(name)) names.push(name);
  }
  return names.sort();
}

/** The bullets of a note, but for one that a crash cut or that is still being written. */
function linesOf(name: string, note: string): readonly FreshLine[] {
  const day = name.slice(0, -'.md'.length);
  const whole = note.slice(0, note.lastIndexOf('\n') + 1);
  return bulletsOf(whole)
    .filter(({ text }) => !text.endsWith(CUT_MARK))
    .map(({ whole: line, text, key }) => ({
      ...parseNoteLine(line),
      text,
      day,
      from: `${name} ${keyHash(key)}`,
    }));
}

/**
 * What the daily notes say beyond what was considered, the oldest first, up to about `maxTokens`. Lines are known by their
 * content, so that what was added late, or changed, is found. What was retired or forgotten since is not said again.
 */
export async function freshNotes(
  workspace: Workspace,
  prefix: string,
  { text, state }: Core,
  maxTokens: number,
): Promise<FreshNotes> {
  const folder = `${prefix}memory/`;
  const daily = await dailyNotes(workspace, folder);
  // What was restored to a time before a note was archived has to be read from there.
  const archived = state.rereads ? await dailyNotes(workspace, `${folder}archive/`) : [];
  const paths = [...archived.map((name) => `archive/${name}`), ...daily];
  const known = factKeys(text);
  const sources = new Set(state.facts.flatMap(({ from }) => from.map(hashIn)));
  const considered = new Set(state.seen);
  const lines: FreshLine[] = [];
  const seen = new Set<string>();
  const present = new Set<string>();
  let rest = maxTokens;
  let read = 0;
  let more = false;
  for (const path of paths) {
    const note = (await readIfFound(workspace, `${folder}${path}`)) ?? '';
    for (const line of linesOf(path.replace('archive/', ''), note)) {
      const { from, text: words, saidOn = line.day } = line;
      present.add(from);
      if (seen.has(from)) continue;
      if (considered.has(from)) {
        seen.add(from);
        continue;
      }
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
  const withdrawn: string[] = [];
  for (const { text: fact, from } of state.facts) {
    const isLeft = from.some((line) => present.has(line) || !daily.includes(noteIn(line)));
    if (from.length > 0 && !isLeft && !(await areArchived(workspace, folder, from)))
      withdrawn.push(factKey(fact));
  }
  return { lines, read, seen: [...seen], withdrawn, more };
}

/** Tests whether one of some lines is in the archive: a note may go on after a part of it went there. */
async function areArchived(workspace: Workspace, folder: string, from: readonly string[]): Promise<boolean> {
  for (const name of new Set(from.map(noteIn))) {
    const note = (await readIfFound(workspace, `${folder}archive/${name}`)) ?? '';
    if (linesOf(name, note).some((line) => from.includes(line.from))) return true;
  }
  return false;
}

/** Tests whether all that a note says has been considered. */
export function isMerged(name: string, note: string, seen: ReadonlySet<string>): boolean {
  return note.endsWith('\n') && linesOf(name, note).every(({ from }) => seen.has(from));
}

function noteIn(from: string): string {
  return from.split(' ')[0] ?? from;
}

/** The hash of a line's key, of what says where the line is from. */
export function hashIn(from: string): string {
  return from.split(' ')[1] ?? from;
}
