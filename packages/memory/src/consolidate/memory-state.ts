import type { Workspace } from '@x/core';
import * as z from 'zod';
import { writeJson } from '../memory-files.js';

const factSchema = z.object({
  id: z.string(),
  text: z.string(),
  author: z.enum(['model', 'rule']),
  /** The day that it was said. */
  saidOn: z.string().optional(),
  source: z.object({ sessionId: z.string(), messageId: z.string().optional() }).optional(),
  /** The lines of notes that it comes from: a note's name and the hash of the line's key. */
  from: z.array(z.string()).default([]),
});

/** Changes of MEMORY.md, by the keys of its bullets. Making them twice is making them once. */
const changeSchema = z.object({
  /** Bullets to put others in the place of, or to take out; one that is gone is added. */
  replace: z.array(z.object({ key: z.string(), text: z.string().optional() })),
  add: z.array(z.string()),
  /** Bullets to take out after all that, for want of room. */
  drop: z.array(z.string()),
});

const stateShape = {
  /** When notes were last merged. ISO 8601, UTC. */
  consolidatedAt: z.string().optional(),
  /** How often in a row the model's answers were refused. */
  refusals: z.int().min(0).default(0),
  /** The bullets of MEMORY.md that were not written by a person. */
  facts: z.array(factSchema).default([]),
  /** By the hash of its key, the day and the moment at which a fact was retired or forgotten: it does not come back from before. */
  gone: z.record(z.string(), z.string()).default({}),
  /** The lines of notes that were considered, as long as the notes have them: a note's name and the hash of the line's key. */
  seen: z.array(z.string()).default([]),
  /** Whether an earlier version was restored: what was archived since is to be read again. */
  rereads: z.boolean().default(false),
};
export const stateSchema = z.object({
  ...stateShape,
  version: z.literal(2),
  /** What is being written: the changes of MEMORY.md, what is to be kept of retired facts, and what holds once it is there. */
  pending: z
    .object({ change: changeSchema, retired: z.array(z.string()), after: z.object(stateShape) })
    .optional(),
});
const { facts, gone, seen } = stateShape;
export const versionSchema = z.object({ facts, gone, seen });

export type CoreChange = z.output<typeof changeSchema>;
export type KnownFacts = Readonly<z.output<typeof versionSchema>>;
/** A bullet of MEMORY.md that was not written by a person. */
export type StoredFact = Readonly<z.output<typeof factSchema>>;
/** What is known of a scope's MEMORY.md beside its text. */
export type MemoryState = z.output<typeof stateSchema>;

export function statePath(prefix: string): string {
  return `${prefix}memory/.consolidation_state`;
}

export async function writeState(workspace: Workspace, prefix: string, state: MemoryState): Promise<void> {
  await writeJson(workspace, statePath(prefix), state);
}
