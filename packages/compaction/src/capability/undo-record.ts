import { createHash } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import { type AgentState, type JsonValue, type Message, messageSchema, type SessionLog } from '@x/core';
import { z } from 'zod';

const EXTENSION = 'compaction';

const recordSchema = z.object({
  /**
   * The list as it was, message by message: an index into the list that the compaction made, for one that stayed; an id,
   * for one that the log holds as it was; a copy, for one that had been altered since.
   */
  before: z.array(z.union([z.number().int().min(0), z.string(), messageSchema])),
  /** How many messages the compaction left, and what tells them from others. */
  length: z.number().int().min(0),
  digest: z.string(),
});

/** What it takes to restore the list from before a compaction. */
export type UndoRecord = z.infer<typeof recordSchema>;

/**
 * How to get from `after` back to `before`. Takes little room: what stayed is not written again, and what the session's
 * log holds as it is is named by its id. Whatever altered a message since it was logged, the record has a copy of it.
 */
export async function undoRecordOf(
  before: readonly Message[],
  after: readonly Message[],
  log: SessionLog,
): Promise<UndoRecord> {
  const position = new Map(after.map((message, index) => [message, index]));
  const entries: UndoRecord['before'] = [];
  for (const message of before) {
    const index = position.get(message);
    if (index !== undefined) entries.push(index);
    else entries.push((await isLogged(message, log)) ? message.id : message);
  }
  return { before: entries, length: after.length, digest: digestOf(after) };
}

/**
 * Notes it in the state, in the place of an earlier one; `undefined` when there is nothing to undo any more.
 *
 * @returns A function that takes it back.
 */
export function storeUndo(state: AgentState, record: UndoRecord | undefined): () => void {
  const previous = state.extensions[EXTENSION];
  const { undo: _, heldUntil: __, ...rest } = previous ?? {};
  state.extensions[EXTENSION] = {
    ...rest,
    ...(record === undefined ? {} : { undo: record as unknown as JsonValue }),
  };
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

/** Whether the log holds the very message; a log that cannot be read holds nothing. */
async function isLogged(message: Message, log: SessionLog): Promise<boolean> {
  try {
    const logged = await log.get(message.id);
    return logged !== undefined && isDeepStrictEqual(plain(logged), plain(message));
  } catch {
    return false;
  }
}

/** As it is once stored and read again. */
function plain(message: Message): unknown {
  return JSON.parse(JSON.stringify(message));
}

function digestOf(messages: readonly Message[]): string {
  const hash = createHash('sha256');
  for (const { id } of messages) hash.update(`${id.length}:${id}`);
  return hash.digest('base64url').slice(0, 22);
}
