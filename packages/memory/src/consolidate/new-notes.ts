import { estimateCounter, type Workspace, WorkspaceError } from '@x/core';
import { noteLines } from '../flush/flush-entry.js';
import { hashOf, type NotePositions } from './consolidation-state.js';

const DAILY = /^\d{4}-\d\d-\d\d\.md$/;
const NEWLINE = 10;

/** What a day's note says that has not been merged yet. */
export interface FreshNote {
  /** `YYYY-MM-DD` */
  readonly day: string;
  readonly lines: readonly string[];
}

/** Notes to merge, and where the notes stand once they are. */
export interface FreshNotes {
  readonly notes: readonly FreshNote[];
  readonly positions: NotePositions;
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
 * What the daily notes say beyond `merged`, the oldest first, up to about `maxTokens`. Each note is compared by its
 * content: what was added late is found however old the note is, and a note that somebody rewrote is taken anew. A line
 * that is still being written is left for the next time.
 */
export async function freshNotes(
  workspace: Workspace,
  prefix: string,
  merged: NotePositions,
  maxTokens: number,
): Promise<FreshNotes> {
  const notes: FreshNote[] = [];
  const positions: Record<string, { bytes: number; hash: string }> = {};
  let rest = maxTokens;
  let more = false;
  for (const name of await dailyNotes(workspace, prefix)) {
    const known = merged[name];
    const bytes = await readBytes(workspace, `${prefix}memory/${name}`);
    const from = known !== undefined && isUnchanged(bytes, known) ? known.bytes : 0;
    if (more) {
      if (known !== undefined && from > 0) positions[name] = known;
      continue;
    }
    const taken = take(bytes, from, rest, notes.length === 0);
    const end = from + taken.bytes;
    if (end > 0) positions[name] = { bytes: end, hash: hashOf(bytes.subarray(0, end)) };
    if (taken.lines.length > 0) notes.push({ day: name.slice(0, -'.md'.length), lines: taken.lines });
    rest -= taken.tokens;
    more = taken.more;
  }
  return { notes, positions, more };
}

/** Whether a note says nothing that has not been merged. */
export function isMerged(bytes: Uint8Array, position: NotePositions[string] | undefined): boolean {
  const from = position !== undefined && isUnchanged(bytes, position) ? position.bytes : 0;
  return noteLines(Buffer.from(bytes.subarray(from)).toString('utf8')).length === 0;
}

function isUnchanged(bytes: Uint8Array, { bytes: length, hash }: NotePositions[string]): boolean {
  return length <= bytes.length && hashOf(bytes.subarray(0, length)) === hash;
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
    const said = noteLines(text);
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
