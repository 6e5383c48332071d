import { createHash } from 'node:crypto';
import type { Workspace, WorkspaceEntry } from '@x/core';
import { type LogLine, readLogLines } from '@x/core/node';
import type { Database } from 'better-sqlite3';
import { markOf, memoryFiles, readIfFound } from '../memory-files.js';
import { searchableText } from '../message-text.js';
import { sessionLogs } from '../session-logs.js';
import { dayOf } from './dates.js';
import type { LineWriter, NewLine } from './line-writer.js';
import { piecesOf } from './terms.js';

/** Lines of a log that are written in one transaction. */
const BATCH = 200;
/** Bytes at the beginning of what is indexed of a log, and at its end, by which it is known again. */
const KNOWN_BYTES = 1_024;

/** How far a log is indexed. */
interface Progress {
  /** Bytes. */
  readonly offset: number;
  /** Messages, each counted once. */
  readonly messages: number;
  /** A hash of what stands before the offset, in part. */
  readonly fingerprint: string;
}

/** Indexes the memory files below a prefix that changed since the last time, and forgets those that are gone. */
export async function indexFiles(workspace: Workspace, prefix: string, writer: LineWriter): Promise<void> {
  const gone = new Set(writer.pathsOf(prefix, 'memory'));
  for await (const entry of memoryFiles(workspace, prefix)) {
    const mark = markOf(entry);
    const isSame = gone.delete(entry.path) && mark !== null && writer.fileOf(entry.path)?.mark === mark;
    const text = isSame ? undefined : await readIfFound(workspace, entry.path);
    if (text !== undefined) await writer.replaceText(entry.path, text, mark);
  }
  for (const path of gone) await writer.replaceText(path, '');
}

/** Indexes the session logs below a prefix, and forgets those that are gone. */
export async function indexLogs(
  workspace: Workspace,
  prefix: string,
  writing: { readonly database: Database; readonly writer: LineWriter },
): Promise<void> {
  const gone = new Set(writing.writer.pathsOf(prefix, 'sessions'));
  for await (const entry of sessionLogs(workspace, prefix)) {
    gone.delete(entry.path);
    await indexLog(workspace, entry, writing);
  }
  for (const path of gone) await writing.writer.replaceText(path, '');
}

/**
 * Indexes what was added to a session log since the last time. A log that does not go on from there, because it was
 * replaced by that of a new session of the same id, is indexed anew.
 */
async function indexLog(
  workspace: Workspace,
  entry: WorkspaceEntry,
  { database, writer }: { readonly database: Database; readonly writer: LineWriter },
): Promise<void> {
  const { path, size } = entry;
  const stored = writer.fileOf(path);
  const mark = markOf(entry);
  if (mark !== null && stored?.mark === mark) return;
  let progress = progressOf(stored?.hash);
  if (progress !== undefined) {
    const goesOn =
      size >= progress.offset &&
      (await fingerprintOf(workspace, path, progress.offset)) === progress.fingerprint;
    if (!goesOn) await writer.replaceText(path, '');
    if (!goesOn) progress = undefined;
  }
  const append = async (lines: readonly LogLine[]) => {
    const end = lines.at(-1)?.end ?? progress?.offset ?? 0;
    const fingerprint = await fingerprintOf(workspace, path, end);
    await writer.transaction(() => appendLines(database, writer, path, lines, fingerprint));
  };
  let batch: LogLine[] = [];
  for await (const line of readLogLines(workspace, path, progress?.offset ?? 0)) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    await append(batch);
    batch = [];
  }
  if (batch.length > 0) await append(batch);
  if (mark !== null) {
    await writer.transaction(() =>
      database.prepare('UPDATE files SET mark = ? WHERE path = ?').run(mark, path),
    );
  }
}

async function appendLines(
  database: Database,
  writer: LineWriter,
  path: string,
  lines: readonly LogLine[],
  fingerprint: string,
): Promise<void> {
  const { offset, messages } = progressOf(writer.fileOf(path)?.hash) ?? { offset: 0, messages: 0 };
  // Another process may have been faster.
  const missing = lines.filter(({ end }) => end > offset);
  const last = missing.at(-1);
  if (last === undefined) return;
  const fileId = await writer.append(path, { hash: `${offset}:${messages}:${fingerprint}`, mark: null }, []);
  const remember = database.prepare<[number, string]>('INSERT OR IGNORE INTO log_messages VALUES (?, ?)');
  const rows: NewLine[] = [];
  let number = messages;
  for (const { message } of missing) {
    if (message === undefined || remember.run(fileId, message.id).changes === 0) continue;
    number++;
    const day = dayOf(message.createdAt) ?? null;
    for (const content of piecesOf(searchableText(message))) rows.push({ number, content, day });
  }
  await writer.append(path, { hash: `${last.end}:${number}:${fingerprint}`, mark: null }, rows);
}

async function fingerprintOf(workspace: Workspace, path: string, end: number): Promise<string> {
  const length = Math.min(end, KNOWN_BYTES);
  const hash = createHash('sha256').update(await workspace.read(path, { offset: 0, length }));
  return hash.update(await workspace.read(path, { offset: end - length, length })).digest('base64url');
}

function progressOf(hash: string | undefined): Progress | undefined {
  const [offset, messages, fingerprint] = hash?.split(':') ?? [];
  if (offset === undefined || fingerprint === undefined) return undefined;
  return { offset: Number(offset), messages: Number(messages), fingerprint };
}
