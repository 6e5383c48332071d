import { createHash } from 'node:crypto';
import { type AgentState, type JsonValue, type Message, messageSchema } from '@x/core';
import { z } from 'zod';
import { stringsIn } from '../message-marks.js';

const EXTENSION = 'compaction';

const recordSchema = z.object({
  /**
   * The list as it was, message by message: an index into the list that the compaction made, for one that stayed; an id,
   * for one that the log holds as it was; a copy, for one that an earlier compaction had altered.
   */
  before: z.array(z.union([z.number().int().min(0), z.string(), messageSchema])),
  /** How many messages the compaction left, and what tells them from others. */
  length: z.number().int().min(0),
  digest: z.string(),
});

/** What it takes to restore the list from before a compaction. */
export type UndoRecord = z.infer<typeof recordSchema>;

/**
 * Notes in the state how to get from `after` back to `before`. Takes little room: what stayed is not written again, and
 * what the session's log holds is named by its id.
 *
 * @param logged Whether all of `before` was written to the log; then new messages will be, before they go.
 * @returns A function that takes the note back.
 */
export function recordUndo(
  state: AgentState,
  before: readonly Message[],
  after: readonly Message[],
  logged: boolean,
): () => void {
  const previous = state.extensions[EXTENSION];
  const altered = alteredIn(state);
  const position = new Map(after.map((message, index) => [message, index]));
  const known = new Set(before);
  const ids = new Set(before.map((message) => message.id));
  // The log holds each id once, as it first was: the altered message must be kept elsewhere when it goes.
  const alteredNow = after.filter((message) =>
    known.has(message) ? altered.has(message.id) : ids.has(message.id) || !logged,
  );
  const record: UndoRecord = {
    before: before.map(
      (message) => position.get(message) ?? (altered.has(message.id) ? message : message.id),
    ),
    length: after.length,
    digest: digestOf(after),
  };
  setExtension(state, record, alteredNow);
  return () => {
    if (previous === undefined) delete state.extensions[EXTENSION];
    else state.extensions[EXTENSION] = previous;
  };
}

/** The note of the last compaction, if it still describes the beginning of the conversation. */
export function readUndo(state: AgentState): UndoRecord | undefined {
  const { success, data } = recordSchema.safeParse(state.extensions[EXTENSION]?.undo);
  if (!success || state.context.length < data.length) return undefined;
  return digestOf(state.context.slice(0, data.length)) === data.digest ? data : undefined;
}

/** The list of `record` was restored: there is nothing to undo any more, and what was altered then is altered again. */
export function settleUndo(state: AgentState, record: UndoRecord, restored: readonly Message[]): void {
  const altered = alteredIn(state);
  const alteredNow = restored.filter((message, index) => {
    const entry = record.before[index];
    return typeof entry === 'object' || (typeof entry === 'number' && altered.has(message.id));
  });
  setExtension(state, undefined, alteredNow);
}

/** Ids of messages that no longer are what the log holds under their id. */
function alteredIn(state: AgentState): ReadonlySet<string> {
  return new Set(stringsIn(state.extensions[EXTENSION]?.altered));
}

function setExtension(state: AgentState, undo: UndoRecord | undefined, altered: readonly Message[]): void {
  const { undo: _, altered: __, heldUntil: ___, ...rest } = state.extensions[EXTENSION] ?? {};
  state.extensions[EXTENSION] = {
    ...rest,
    ...(undo === undefined ? {} : { undo: undo as unknown as JsonValue }),
    ...(altered.length === 0 ? {} : { altered: altered.map((message) => message.id) }),
  };
}

function digestOf(messages: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const { id } of messages) hash.update(`${id.length}:${id}`);
  return hash.digest('base64url').slice(0, 22);
}
