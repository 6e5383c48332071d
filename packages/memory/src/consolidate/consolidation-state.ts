import { createHash } from 'node:crypto';
import { parseWith, type Workspace } from '@x/core';
import { z } from 'zod';
import { readIfFound } from '../memory-files.js';

/** How much of each note has been merged: so many bytes, and what they were. */
export const positionsSchema = z.record(z.string(), z.object({ bytes: z.int().min(0), hash: z.string() }));

const stateSchema = z.object({
  version: z.literal(1),
  /** When notes were last merged. ISO 8601, UTC. */
  consolidatedAt: z.string().optional(),
  /** How often in a row the model's answers were refused. */
  refusals: z.int().min(0).default(0),
  /** By the note's name. */
  notes: positionsSchema.default({}),
  /** What is being written: how MEMORY.md was, how it will be, and where the notes stand once it is. */
  pending: z
    .object({ before: z.string(), length: z.int().min(0), hash: z.string(), notes: positionsSchema })
    .optional(),
});

export type NotePositions = Readonly<z.output<typeof positionsSchema>>;
/** How far the notes of a scope have been merged into its MEMORY.md. */
export type ConsolidationState = z.output<typeof stateSchema>;

function statePath(prefix: string): string {
  return `${prefix}memory/.consolidation_state`;
}

/** @throws {InvalidInputError} for a file that is no such state. */
export async function readState(workspace: Workspace, prefix: string): Promise<ConsolidationState> {
  const text = await readIfFound(workspace, statePath(prefix));
  if (text === undefined) return { version: 1, refusals: 0, notes: {} };
  return parseWith(
    stateSchema,
    parseJson(text),
    `consolidation state ${statePath(prefix)}`,
    'Delete the file to have all notes merged again.',
  );
}

export async function writeState(
  workspace: Workspace,
  prefix: string,
  state: ConsolidationState,
): Promise<void> {
  await workspace.write(statePath(prefix), `${JSON.stringify(state)}\n`);
}

export function hashOf(data: string | Uint8Array): string {
  return createHash('sha256').update(data).digest('base64url');
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
