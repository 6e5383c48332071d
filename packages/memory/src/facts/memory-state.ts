import type { Workspace } from '@x/core';
import * as z from 'zod';
import { ifWhole, readJson, writeJson } from '../memory-files.js';

const STATE = 'memory/.consolidation_state';
/** A copy of the state file, which replaces a lost or damaged one. */
const COPY = 'memory/.consolidation_copy';
const INSTEAD = 'The memory continues from its copy.';
const REMEDY = 'Delete the file to read the whole session again.';

const factSchema = z.object({
  id: z.string(),
  text: z.string(),
  author: z.enum(['person', 'model']),
  /** The day on which the fact was stated. */
  saidOn: z.string().optional(),
  source: z.object({ sessionId: z.string(), messageId: z.string().optional() }).optional(),
  /** The note lines from which the fact was merged: a note's name and the hash of the line's key. */
  from: z.array(z.string()).default([]),
});

/** Edits of MEMORY.md, by the keys of its bullets. Applying them twice does no harm. */
const editsSchema = z.object({
  /** Bullets to replace or remove. If the old bullet does not exist, the replacement is added. */
  replace: z.array(z.object({ key: z.string(), text: z.string().optional() })),
  add: z.array(z.string()),
  /** Bullets to remove after the other edits, because the file is too long. */
  drop: z.array(z.string()),
});

const offsetSchema = z.object({
  messageId: z.string(),
  /** Start and end of the message's line in the log, in bytes. */
  start: z.int().min(0),
  end: z.int().min(0),
});

const progressSchema = z.object({
  /** The last message that was flushed. */
  offset: offsetSchema.optional(),
  /** ISO 8601, UTC. */
  flushedAt: z.string().optional(),
  /** `true` if the model's answers about the newest messages could not be used. */
  failed: z.boolean().optional(),
});

const knownShape = {
  /** When the last merge of notes began. ISO 8601, UTC. */
  consolidatedAt: z.string().optional(),
  /** The bullets of MEMORY.md that no person wrote or edited in the file. */
  facts: z.array(factSchema).default([]),
  /** Facts whose line is no longer in MEMORY.md, newest last. If the line returns, so does the fact. */
  lost: z.array(factSchema).default([]),
  /** Maps the hash of a fact's key to the time at which the fact was retired or forgotten. Older statements do not restore the fact. */
  gone: z.record(z.string(), z.string()).default({}),
  /** The note lines that have been processed: a note's name and the hash of the line's key. */
  seen: z.array(z.string()).default([]),
};

/** A change that is being written. Every step can be repeated, so another process can finish the change after a crash. */
const changeSchema = z.object({
  /** Lines to append, by path below the prefix. */
  lines: z.record(z.string(), z.array(z.string())),
  edits: editsSchema,
  /** The session's progress after this flush, and the path of its file. */
  flushed: z.object({ path: z.string(), progress: progressSchema }).optional(),
  /** The state after this change. */
  after: z.object(knownShape),
});

const stateSchema = z.object({ ...knownShape, pending: changeSchema.optional() });

export type CoreEdits = z.output<typeof editsSchema>;
export type PendingChange = z.output<typeof changeSchema>;
/** A bullet of MEMORY.md that no person wrote or edited in the file. */
export type StoredFact = Readonly<z.output<typeof factSchema>>;
/** The part of a scope's memory state that is not in the text of its files. */
export type MemoryState = z.output<typeof stateSchema>;
/** The last flushed message of a session, and its position in the log. */
export type FlushOffset = z.output<typeof offsetSchema>;
/** How far a session has been flushed. */
export type FlushProgress = z.output<typeof progressSchema>;

/** @throws {MemoryFormatError} when a newer release wrote the file. */
export async function readState(workspace: Workspace, prefix: string): Promise<MemoryState> {
  for (const file of [STATE, COPY]) {
    const state = await ifWhole(readJson(workspace, `${prefix}${file}`, stateSchema, INSTEAD));
    if (state !== undefined) return state;
  }
  return stateSchema.parse({});
}

export async function writeState(workspace: Workspace, prefix: string, state: MemoryState): Promise<void> {
  await writeJson(workspace, `${prefix}${STATE}`, state);
  if (state.pending === undefined) await writeJson(workspace, `${prefix}${COPY}`, state);
}

/**
 * @throws {InvalidInputError} when the file is damaged.
 * @throws {MemoryFormatError} when a newer release wrote the file.
 */
export async function readProgress(workspace: Workspace, path: string): Promise<FlushProgress> {
  return (await readJson(workspace, path, progressSchema, REMEDY)) ?? {};
}
