import { estimateCounter, type Workspace, WorkspaceError } from '@x/core';
import { noteLines } from '../flush/flush-state.js';
import { factKey, factKeys, keyHash, type NoteLine, parseNoteLine } from '../notes.js';
import type { Core } from './core-file.js';
import { hashOf, type MemoryState, type NotePositions } from './memory-state.js';

const DAILY = /^\d{4}-\d\d-\d\d\.md$/;
const NEWLINE = 10;

/** A line of a note that has not been merged yet. */
export interface FreshLine extends NoteLine {
  /** Of the note, `YYYY-MM-DD`. */
  readonly day: string;
  /** The note's name and the hash of the line's key. */
  readonly from: string;
}

/** Notes to merge, and where the notes stand once they are. */
export interface FreshNotes {
  readonly lines: readonly FreshLine[];
  /** Lines that were read, also those that say nothing new. */
  readonly read: number;
  readonly positions: NotePositions;
  /** Ids of facts whose line a person took out of its note, or changed. */
  readonly withdrawn: readonly string[];
  /** Whether there is more than could be taken at once. */
  readonly more: boolean;
}

/** The names of all daily notes of a prefix, oldest first. */
export async function dailyNotes(workspace: Workspace, prefix: string): Promise<string[]> {
  const names: string[] = [];
  const folder = `${prefix}memory/`;
  for await (const { path, type } of workspace.list(`${prefix}memory`)) {
    const name = path.slice(folder.length);
    if (type === 'file' && DAILY.test(name)) names.push(name);
  }
  return names.sort();
}

/**
 * What the daily notes say beyond what was merged, the oldest first, up to about `maxTokens`. Each note is compared by its
 * content: what was added late is found however old the note is, and of a note that somebody rewrote, what changed. A fact
 * that was retired or forgotten since is not said again. A line that is still being written is left for the next time.
 */
export async function freshNotes(
  workspace: Workspace,
  prefix: string,
  { text, state }: Core,
  maxTokens: number,
): Promise<FreshNotes> {
  const names = new Set(await dailyNotes(workspace, prefix));
  // What was restored to a time before a note was archived has to be read from there.
  const archived = Object.keys(state.notes).filter(
    (name) => state.notes[name]?.bytes === 0 && !names.has(name),
  );
  const known = factKeys(text);
  const sources = new Set(state.facts.flatMap(({ from }) => from.map((line) => line.split(' ')[1])));
  const lines: FreshLine[] = [];
  const positions: Record<string, { bytes: number; hash: string }> = { ...state.notes };
  const withdrawn: string[] = [];
  let rest = maxTokens;
  let read = 0;
  let more = false;
  for (const name of [...names, ...archived].sort()) {
    const position = state.notes[name];
    const path = names.has(name) ? name : `archive/${name}`;
    const bytes = await readBytes(workspace, `${prefix}memory/${path}`);
    const isKnown = position !== undefined && isUnchanged(bytes, position);
    const from = isKnown ? position.bytes : 0;
    if (position !== undefined && !isKnown) {
      const before = await readBytes(workspace, `${prefix}memory/archive/${name}`);
      withdrawn.push(...withdrawnFrom(name, Buffer.concat([before, bytes]), state));
    }
    if (more) continue;
    const day = name.slice(0, -'.md'.length);
    const taken = take(bytes, from, rest, read === 0);
    const end = from + taken.bytes;
    if (end > 0) positions[name] = { bytes: end, hash: hashOf(bytes.subarray(0, end)) };
    for (const line of taken.lines) {
      const said = parseNoteLine(line);
      const key = factKey(said.text);
      const hash = keyHash(key);
      const goneOn = state.gone[hash];
      const isGone = goneOn !== undefined && (said.saidOn ?? day) <= goneOn;
      if (key === '' || known.has(key) || sources.has(hash) || isGone) continue;
      known.add(key);
      lines.push({ ...said, day, from: `${name} ${hash}` });
    }
    read += taken.lines.length;
    rest -= taken.tokens;
    more = taken.more;
  }
  return { lines, read, positions, withdrawn, more };
}

/** Whether a note says nothing that has not been merged. */
export function isMerged(bytes: Uint8Array, position: NotePositions[string] | undefined): boolean {
  const from = position !== undefined && isUnchanged(bytes, position) ? position.bytes : 0;
  return noteLines(Buffer.from(bytes.subarray(from)).toString('utf8')).length === 0;
}

function withdrawnFrom(name: string, bytes: Uint8Array, { facts }: MemoryState): string[] {
  const left = new Set(
    noteLines(Buffer.from(bytes).toString('utf8')).map(
      (line) => `${name} ${keyHash(factKey(parseNoteLine(line).text))}`,
    ),
  );
  return facts
    .filter(
      ({ from }) => from.length > 0 && from.every((line) => line.startsWith(`${name} `) && !left.has(line)),
    )
    .map(({ id }) => id);
}

function isUnchanged(bytes: Uint8Array, { bytes: length, hash }: NotePositions[string]): boolean {
  return length <= bytes.length && (length === 0 || hashOf(bytes.subarray(0, length)) === hash);
}

/** Complete lines from `from` on, as many as the tokens allow; one at least when there must be. */
function take(bytes: Uint8Array, from: number, maxTokens: number, atLeastOne: boolean) {
  const lines: string[] = [];
  let tokens = 0;
  let end = from;
  for (;;) {
    const lineEnd = bytes.indexOf(NEWLINE, end) + 1;
    if (lineEnd === 0) return { lines, tokens, bytes: end - from, more: false };
    const text = Buffer.from(bytes.subarray(end, lineEnd)).toString('utf8');
    const said = noteLines(text).filter((line) => !line.startsWith('#'));
    const cost = said.length === 0 ? 0 : estimateCounter.count(text);
    if (tokens + cost > maxTokens && cost > 0 && !(atLeastOne && lines.length === 0)) {
      return { lines, tokens, bytes: end - from, more: true };
    }
    lines.push(...said);
    tokens += cost;
    end = lineEnd;
  }
}

async function readBytes(workspace: Workspace, path: string): Promise<Uint8Array> {
  try {
    return await workspace.read(path);
  } catch (error) {
    if (WorkspaceError.isInstance(error) && error.code === 'not_found') return new Uint8Array();
    throw error;
  }
}
