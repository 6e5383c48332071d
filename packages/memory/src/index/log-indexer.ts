import { headOf, type Message, type Workspace } from '@x/core';
import type { Database } from 'better-sqlite3';
import { searchableText } from '../message-text.js';
import { type LogLine, readLogFrom } from '../read-log-file.js';
import { dayOf } from './day.js';
import type { LineWriter, NewLine } from './line-writer.js';

/** Characters of a message that make one row; longer ones are several, under the same number. */
const MAX_ROW_CHARS = 2_000;
/** Lines of a log that are written in one transaction. */
const BATCH = 500;

/** How far a log is indexed, as it is stored for the file. */
interface Progress {
  /** Bytes. */
  readonly offset: number;
  /** Messages, each counted once. */
  readonly messages: number;
}

/** Indexes what was added to a session log since the last time. A log that became shorter is indexed anew. */
export async function indexLog(
  workspace: Workspace,
  path: string,
  { database, writer }: { readonly database: Database; readonly writer: LineWriter },
): Promise<void> {
  const size = (await workspace.stat(path))?.size ?? 0;
  const known = progressOf(writer.hashOf(path));
  if (known !== undefined && size < known.offset) writer.replaceText(path, '');
  else if (known?.offset === size) return;
  const append = database.transaction((lines: readonly LogLine[]) =>
    appendLines(database, writer, path, lines),
  );
  let batch: LogLine[] = [];
  for await (const line of readLogFrom(workspace, path, progressOf(writer.hashOf(path))?.offset ?? 0)) {
    batch.push(line);
    if (batch.length < BATCH) continue;
    append.immediate(batch);
    batch = [];
  }
  if (batch.length > 0) append.immediate(batch);
}

function appendLines(database: Database, writer: LineWriter, path: string, lines: readonly LogLine[]): void {
  const { offset, messages } = progressOf(writer.hashOf(path)) ?? { offset: 0, messages: 0 };
  // Another process may have been faster.
  const missing = lines.filter(({ end }) => end > offset);
  const last = missing.at(-1);
  if (last === undefined) return;
  const fileId = writer.append(path, `${offset}:${messages}`, []);
  const remember = database.prepare<[number, string]>('INSERT OR IGNORE INTO log_messages VALUES (?, ?)');
  const rows: NewLine[] = [];
  let number = messages;
  for (const { message } of missing) {
    if (message === undefined || remember.run(fileId, message.id).changes === 0) continue;
    number++;
    rows.push(...rowsOf(message, number));
  }
  writer.append(path, `${last.end}:${number}`, rows);
}

function rowsOf(message: Message, number: number): NewLine[] {
  const day = dayOf(message.createdAt) ?? null;
  return piecesOf(searchableText(message)).map((content) => ({ number, content, day }));
}

/** Cut at a line break or a space where there is one in the second half of a piece. */
function piecesOf(text: string): string[] {
  const pieces: string[] = [];
  for (let rest = text.trim(); rest !== ''; ) {
    const head = headOf(rest, MAX_ROW_CHARS);
    const space = Math.max(head.lastIndexOf('\n'), head.lastIndexOf(' '));
    const end = head.length < rest.length && space > MAX_ROW_CHARS / 2 ? space : head.length;
    pieces.push(rest.slice(0, end));
    rest = rest.slice(end).trimStart();
  }
  return pieces;
}

function progressOf(hash: string | undefined): Progress | undefined {
  const [offset, messages] = hash?.split(':') ?? [];
  return offset === undefined ? undefined : { offset: Number(offset), messages: Number(messages) };
}
