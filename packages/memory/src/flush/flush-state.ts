import { createHash } from 'node:crypto';
import { estimateCounter, type Message, type Workspace } from '@x/core';
import { readLogLines } from '@x/core/node';
import * as z from 'zod';
import { readJson } from '../memory-files.js';
import type { SessionPlace } from '../memory-scope.js';
import { renderMessage } from './flush-prompt.js';

const offsetSchema = z.object({
  messageId: z.string(),
  /** Where the message's line begins and ends in the log, in bytes. */
  start: z.int().min(0),
  end: z.int().min(0),
});

const entrySchema = z.object({
  id: z.string().regex(/^[0-9a-f]+$/),
  bullets: z.array(z.string()),
});

const stateSchema = z.object({
  version: z.literal(1),
  /** The last message that was flushed. */
  offset: offsetSchema.optional(),
  /** ISO 8601, UTC. */
  flushedAt: z.string().optional(),
  /** How often in a row the model's answers on the next batch were refused. */
  refusals: z.int().min(0).default(0),
  /** What is being written: to which note, and where the flush stands once it is there. */
  pending: z.object({ note: z.string(), entry: entrySchema, offset: offsetSchema }).optional(),
});

/** The last message of a session that was flushed, and where it stands in the log. */
export type FlushOffset = z.output<typeof offsetSchema>;
/** Bullets of one batch of messages. */
export type FlushEntry = z.output<typeof entrySchema>;
/** How far a session has been flushed. */
export type FlushState = z.output<typeof stateSchema>;

const REMEDY = 'Delete the file to have the whole session read again.';

/** @throws {InvalidInputError} for a file that is no such state. */
export async function readFlushState(workspace: Workspace, path: string): Promise<FlushState> {
  return (await readJson(workspace, path, stateSchema, REMEDY)) ?? { version: 1, refusals: 0 };
}

/** Tests whether all that a log of a size holds has been flushed. */
export async function isFlushed(workspace: Workspace, place: SessionPlace, size: number): Promise<boolean> {
  const { offset, pending } = await readFlushState(workspace, place.flushState);
  return pending === undefined && (offset?.end ?? 0) >= size;
}

/** Messages of a session that have not been flushed yet and say something, where they end, and whether the log goes on. */
export interface Batch {
  /** Without summaries, injected messages and system prompts. */
  readonly messages: readonly Message[];
  readonly offset: FlushOffset;
  readonly more: boolean;
}

/** Reads the next messages of a log behind an offset, as many as fit into `maxTokens`, one at least. Costs what was added since. */
export async function nextBatch(
  workspace: Workspace,
  log: string,
  after: FlushOffset | undefined,
  maxTokens: number,
): Promise<Batch | undefined> {
  const messages: Message[] = [];
  const seen = new Set<string>();
  let offset: FlushOffset | undefined;
  let tokens = 0;
  const from = after === undefined ? 0 : await resume(workspace, log, after);
  for await (const { message, start, end } of readLogLines(workspace, log, from)) {
    if (message === undefined) continue;
    const isSpoken = message.kind === undefined && message.role !== 'system' && !seen.has(message.id);
    const text = isSpoken ? renderMessage(message) : '';
    const cost = text === '' ? 0 : estimateCounter.count(text);
    if (messages.length > 0 && tokens + cost > maxTokens && offset !== undefined) {
      return { messages, offset, more: true };
    }
    seen.add(message.id);
    if (text !== '') messages.push(message);
    tokens += cost;
    offset = { messageId: message.id, start, end };
  }
  return offset && { messages, offset, more: false };
}

/** Finds where to read on: right behind the message, wherever it is now; at the beginning of a log that lost it. */
async function resume(
  workspace: Workspace,
  log: string,
  { messageId, start, end }: FlushOffset,
): Promise<number> {
  for await (const line of readLogLines(workspace, log, start)) {
    if (line.end === end && line.message?.id === messageId) return end;
    break;
  }
  for await (const line of readLogLines(workspace, log, 0)) {
    if (line.message?.id === messageId) return line.end;
  }
  return 0;
}

/** Behind what a crash left of a line. */
export const CUT_MARK = '<!-- cut off -->';

/** Names a batch of a session's messages, by whoever flushes it alike. */
export function entryId(log: string, messages: readonly Message[]): string {
  const ids = [log, messages[0]?.id ?? '', messages.at(-1)?.id ?? ''];
  return createHash('sha256').update(JSON.stringify(ids)).digest('hex').slice(0, 16);
}

/** Whether a note holds an entry completely. */
export function holdsEntry(note: string, id: string): boolean {
  return note.includes(`<!-- flush ${id} -->\n`);
}

/** What must be added to a note so that it holds an entry. The mark stands last: who sees it knows that all bullets are there. */
export function missingFrom(note: string, { id, bullets }: FlushEntry): string {
  if (holdsEntry(note, id)) return '';
  const lines = note.split('\n');
  const torn = lines.pop() ?? '';
  const present = new Set(lines);
  const missing = bullets.map((bullet) => `- ${bullet}`).filter((line) => !present.has(line));
  const mark = `<!-- flush ${id} -->`;
  const text = `${[...missing, mark].join('\n')}\n`;
  if (torn === '') return text;
  // A character may have been cut in the middle of its bytes.
  const whole = torn.replace(/\uFFFD+$/, '');
  const isCut = [...missing, mark].some((line) => line.startsWith(whole));
  return `${isCut ? ` ${CUT_MARK}` : ''}\n${text}`;
}
