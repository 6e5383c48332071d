import {
  type AgentState,
  InvalidInputError,
  type JsonValue,
  type Message,
  messageSchema,
  type SessionLog,
} from '@x/core';
import { digest, inPieces, othersTurn, sortedJson, type Work } from '@x/core/internal';
import * as z from 'zod';
import { withoutBoards } from '../conversation/marks.js';
import { pinsOf, withPins } from '../run/pins.js';
import { coveredBy, isNarrative } from '../summary/summary-message.js';
import { changeNotes, notesIn, pinsIn } from './stored-state.js';

/** Maximum UTF-16 units of all records together. They are part of the state, which is saved often. */
const LONGEST = 200_000;
/** Maximum number of compactions that can be undone, one after the other. */
const DEEPEST = 10;

/** The source number of messages that stayed in the conversation. */
const STAYED = -1;

/** Maximum number of messages of one run. */
const MOST_MESSAGES = 1_000_000;

/** Where the messages of the list before a compaction are found. */
const entrySchema = z.union([
  /**
   * `[source, start, count]`. If the source is `STAYED`: messages in the list after the compaction. Otherwise the source is the index of a
   * summary in that list: messages in the log, by the ids that the summary covers.
   */
  z.strictObject({ run: z.tuple([z.int(), z.int().min(0), z.int().min(1).max(MOST_MESSAGES)]) }),
  /** A message in the log, by its id. */
  z.strictObject({ logged: z.string() }),
  /** A copy of a message that was changed after it was logged. */
  z.strictObject({ copy: messageSchema }),
]);
type Entry = z.infer<typeof entrySchema>;

/** A record that restores the list from before a compaction. */
const recordSchema = z.strictObject({
  /** The entries of the list before the compaction, in order. */
  before: z.array(entrySchema).readonly(),
  /** The number of messages that the compaction left. `digest` identifies them. */
  length: z.int().min(0),
  digest: z.string(),
  /** `true` for an automatic reduction that only changed messages. It is undone together with the summary before it. */
  minor: z.boolean(),
});
type UndoRecord = z.infer<typeof recordSchema>;
/** An imported session may have invalid records. Nothing can then be undone. */
const recordsSchema = z.array(recordSchema).catch([]);

/**
 * Makes the record that restores the list before a compaction from the list after it. The record is small: messages that stayed are
 * referenced by index, and logged messages by id or by the summary that covers them. It contains a copy of each message that changed after
 * it was logged.
 *
 * @param minor Whether the reduction was automatic and only changed messages.
 * @returns `undefined` if the copies would be too large to save with the state.
 */
export async function undoRecordOf(
  listBefore: readonly Message[],
  listAfter: readonly Message[],
  log: SessionLog,
  minor: boolean,
): Promise<UndoRecord | undefined> {
  const before = withoutBoards(listBefore);
  const after = withoutBoards(listAfter);
  const position = new Map(after.map((message, index) => [message, index]));
  const covering = new Map<string, readonly [place: number, index: number]>();
  for (const [place, message] of after.entries()) {
    for (const [index, id] of coveredBy(message).entries()) covering.set(id, [place, index]);
  }

  const gone = before.filter((message) => !position.has(message));
  // If the log cannot be read, treat it as empty.
  const logged = await findLogged(new Set(gone.map(({ id }) => id)), log).catch(
    () => new Map<string, Message>(),
  );
  const entries: Entry[] = [];
  const compare = function* (): Work<void> {
    for (const message of before) {
      yield;
      const index = position.get(message);
      const place = covering.get(message.id);
      if (index !== undefined) addRun(entries, STAYED, index);
      else if (!isSame(logged.get(message.id), message)) entries.push({ copy: message });
      else if (place) addRun(entries, ...place);
      else entries.push({ logged: message.id });
    }
  };
  await inPieces(compare());
  const record = { before: entries, length: after.length, digest: digestOf(after), minor };
  return JSON.stringify(record).length <= LONGEST ? record : undefined;
}

/**
 * Returns the list before the compaction whose result was `after`, or `undefined` if the log lacks a message.
 *
 * @throws any error of reading the log.
 */
async function listBefore(
  record: UndoRecord,
  after: readonly Message[],
  log: SessionLog,
): Promise<readonly Message[] | undefined> {
  const places = record.before.flatMap((entry) => messagesOf(entry, after));
  const logged = await findLogged(new Set(places.filter((place) => typeof place === 'string')), log);
  const restored = places.map((place) => (typeof place === 'string' ? logged.get(place) : place));
  return restored.every((message) => message !== undefined) ? restored : undefined;
}

/** The records of a state, oldest first. */
function recordsIn(state: AgentState): readonly UndoRecord[] {
  return recordsSchema.parse(notesIn(state).undo);
}

/**
 * Adds a record to those of a state. If there are too many, removes the oldest. If the newest record is missing, no compaction can be
 * undone, so all records are removed.
 *
 * @param record The result of {@link undoRecordOf}.
 */
export function withRecord(state: AgentState, record: UndoRecord | undefined): JsonValue | undefined {
  if (record === undefined) return undefined;
  const records = [...recordsIn(state), record].slice(-DEEPEST);
  while (records.length > 1 && JSON.stringify(records).length > LONGEST) records.shift();
  return records as unknown as JsonValue;
}

/** Adds one message of a source. Extends the last entry if the message follows it in the same source. */
function addRun(entries: Entry[], source: number, index: number): void {
  const last = entries.at(-1);
  if (last && 'run' in last && last.run[0] === source && last.run[1] + last.run[2] === index) last.run[2]++;
  else entries.push({ run: [source, index, 1] });
}

/** Returns the messages of an entry, or their ids in the log. */
function messagesOf(entry: Entry, after: readonly Message[]): readonly (Message | string | undefined)[] {
  if ('copy' in entry) return [entry.copy];
  if ('logged' in entry) return [entry.logged];
  const [source, start, count] = entry.run;
  const summary = after[source];
  const places = source === STAYED ? after : summary ? coveredBy(summary) : [];
  return Array.from({ length: count }, (_, index) => places[start + index]);
}

/** Nesting depth up to which values are compared key by key. */
const COMPARED_DEPTH = 100;

/** Tests if two values are equal. Ignores the order of keys, because some databases change it. */
export function isSame(logged: unknown, message: unknown, depth = 0): boolean {
  if (logged === message) return true;
  if (!isNode(logged) || !isNode(message) || Array.isArray(logged) !== Array.isArray(message)) return false;
  if (depth > COMPARED_DEPTH) return sortedJson(logged) === sortedJson(message);
  const keys = new Set([...Object.keys(logged), ...Object.keys(message)]);
  return [...keys].every((key) => isSame(logged[key], message[key], depth + 1));
}

function isNode(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === 'object' && value !== null;
}

function digestOf(messages: readonly Message[]): string {
  return digest(messages.map(({ id }) => `${id.length}:${id}`).join('')).slice(0, 32);
}

/** The input of an undo: a session's state, and its log. */
export interface UndoScope {
  readonly state: AgentState;
  readonly log: SessionLog;
}

/**
 * Restores the exact list before the last summary, followed by the messages added since. Also undoes automatic changes made after that
 * summary. Each further call undoes one more summary, up to ten. Works after a restart if the log has the messages.
 *
 * @returns Whether the compaction was undone. Returns `false` and changes nothing if there is nothing to undo, if a hook or a tool has
 * rewritten the conversation since, or if the log lacks a message.
 * @throws {InvalidInputError} if the state or the log is missing.
 * @throws any error of reading the log. Nothing is changed then.
 */
export async function undoCompaction({ state, log }: UndoScope): Promise<boolean> {
  if (state === undefined || log === undefined) {
    const message = 'must be { state, log }: an AgentState, and the log that has its messages';
    throw new InvalidInputError('undoCompaction scope', [{ path: '', message }]);
  }
  const records = [...recordsIn(state)];
  const context = [...state.context];
  const now = withoutBoards(context);
  let restored: readonly Message[] = now;
  for (let record = records.pop(); record; record = records.pop()) {
    // A late narrative is removed with its summary. It may be among the messages that the compaction left.
    const { length } = record;
    const list = [restored, restored.filter((one) => !isNarrative(one))].find(
      (each) => each.length >= length && digestOf(each.slice(0, length)) === record.digest,
    );
    const before = list && (await listBefore(record, list.slice(0, length), log));
    if (!before) return false;
    restored = [...before, ...list.slice(length).filter((one) => !isNarrative(one))];
    if (!record.minor) break;
  }
  if (restored === now) return false;
  const pins = pinsOf(context, pinsIn(state));
  if (!swapContext(state, context, withPins(restored, pins))) return false;
  changeNotes(state, { undo: records.length > 0 ? (records as unknown as JsonValue) : undefined });
  return true;
}

/** Maximum number of messages that are looked up one by one. If there are more, the log is read from the start. */
const FEW = 16;
/** Number of messages read between two yields to the event loop. */
const MESSAGES_A_TURN = 500;
/** Maximum number of log messages to read for each message to find. */
const OTHERS_FOR_EACH = 32;

/**
 * Finds the messages with these ids in a log. In a file log, one lookup costs as much as reading dozens of messages in a row, so many are
 * found in one pass.
 *
 * @param ids In the order of the conversation.
 * @throws any error of reading the log.
 */
export async function findLogged(
  ids: ReadonlySet<string>,
  log: SessionLog,
): Promise<ReadonlyMap<string, Message>> {
  const found = new Map<string, Message>();
  if (ids.size > FEW) {
    let patience = ids.size * OTHERS_FOR_EACH;
    const [first] = ids;
    for await (const message of log.read(first)) {
      if (ids.has(message.id)) found.set(message.id, message);
      if (found.size === ids.size || --patience === 0) break;
      if (patience % MESSAGES_A_TURN === 0) await othersTurn();
    }
  }
  for (const id of ids) {
    if (found.has(id)) continue;
    const message = await log.get(id);
    if (message !== undefined) found.set(id, message);
  }
  return found;
}

/**
 * Replaces `before` by `after`. Messages that arrived in the meantime stay after it.
 *
 * @returns A function that undoes it, or `undefined` if the conversation no longer begins with `before`, and nothing changed.
 */
export function swapContext(
  state: AgentState,
  before: readonly Message[],
  after: readonly Message[],
): (() => void) | undefined {
  const context = state.contextMutable();
  if (!before.every((message, index) => context[index] === message)) return undefined;
  replaceHead(context, before.length, after);
  return () => replaceHead(context, after.length, before);
}

function replaceHead(context: Message[], length: number, head: readonly Message[]): void {
  const tail = context.slice(length);
  context.length = 0;
  // Not `push(...head)`: the number of arguments of a call is limited.
  for (const message of head) context.push(message);
  for (const message of tail) context.push(message);
}
