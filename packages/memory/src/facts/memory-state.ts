import type { Workspace } from '@x/core';
import * as z from 'zod';
import { ifWhole, readJson, writeJson } from '../memory-files.js';

const STATE = 'memory/.consolidation_state';
/** A copy of the state before or after the last change. It replaces a lost or damaged state file. */
const COPY = 'memory/.consolidation_copy';
const INSTEAD = 'The memory continues from its copy.';
const REMEDY = 'Delete the file to read the whole session again.';

const factSchema = z.object({
  id: z.string(),
  text: z.string(),
  author: z.enum(['person', 'model']),
  /** The day on which the fact was said. */
  saidOn: z.string().optional(),
  source: z.object({ sessionId: z.string(), messageId: z.string().optional() }).optional(),
  /** The lines of notes that the fact comes from: a note's name and the hash of the line's key. */
  from: z.array(z.string()).default([]),
});

/** Edits of MEMORY.md, by the keys of its bullets. They can be applied twice without harm. */
const editsSchema = z.object({
  /** Bullets to replace, or to remove. A replacement whose bullet is gone is added. */
  replace: z.array(z.object({ key: z.string(), text: z.string().optional() })),
  add: z.array(z.string()),
  /** Bullets to remove after the other edits, because the file is too long. */
  drop: z.array(z.string()),
});

const offsetSchema = z.object({
  messageId: z.string(),
  /** Where the message's line begins and ends in the log, in bytes. */
  start: z.int().min(0),
  end: z.int().min(0),
});

const progressSchema = z.object({
  /** The last message that was flushed. */
  offset: offsetSchema.optional(),
  /** ISO 8601, UTC. */
  flushedAt: z.string().optional(),
});

const knownShape = {
  /** When the last merge of notes began. ISO 8601, UTC. */
  consolidatedAt: z.string().optional(),
  /** The bullets of MEMORY.md that were not written by a person in this file. */
  facts: z.array(factSchema).default([]),
  /** Facts whose line is no longer in MEMORY.md, newest last. A fact returns with its line. */
  lost: z.array(factSchema).default([]),
  /** By the hash of its key, the day and the time at which a fact was retired or forgotten. Older statements do not bring it back. */
  gone: z.record(z.string(), z.string()).default({}),
  /** The lines of the notes that were considered: a note's name and the hash of the line's key. */
  seen: z.array(z.string()).default([]),
};

/** A change of the memory that is being written. Each part can be repeated, so another process can finish it after a crash. */
const changeSchema = z.object({
  /** Lines to append, by path below the prefix. */
  lines: z.record(z.string(), z.array(z.string())),
  edits: editsSchema,
  /** The progress of the session whose flush this is, and the path of its file. */
  flushed: z.object({ path: z.string(), progress: progressSchema }).optional(),
  /** What is known once all of this is written. */
  after: z.object(knownShape),
});

const stateSchema = z.object({ ...knownShape, pending: changeSchema.optional() });

export type CoreEdits = z.output<typeof editsSchema>;
export type PendingChange = z.output<typeof changeSchema>;
/** A bullet of MEMORY.md that was not written by a person in this file. */
export type StoredFact = Readonly<z.output<typeof factSchema>>;
/** State of a scope's memory that is not in the text of its files. */
export type MemoryState = z.output<typeof stateSchema>;
/** The last message of a session that was flushed, and its place in the log. */
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
