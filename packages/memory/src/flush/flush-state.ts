import { parseWith, type Workspace } from '@x/core';
import * as z from 'zod';
import { readIfFound } from '../memory-files.js';

const offsetSchema = z.object({
  messageId: z.string(),
  /** Where the message's line begins and ends in the log, in bytes. */
  start: z.int().min(0),
  end: z.int().min(0),
});

const entrySchema = z.object({
  id: z.string().regex(/^[0-9a-f]+$/),
  bullets: z.array(z.string()),
  extraction: z.enum(['model', 'mechanical']),
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

/** @throws {InvalidInputError} for a file that is no such state. */
export async function readFlushState(workspace: Workspace, path: string): Promise<FlushState> {
  const text = await readIfFound(workspace, path);
  if (text === undefined) return { version: 1, refusals: 0 };
  return parseWith(
    stateSchema,
    parseJson(text),
    `flush state ${path}`,
    'Delete the file to have the whole session read again.',
  );
}

export async function writeFlushState(workspace: Workspace, path: string, state: FlushState): Promise<void> {
  await workspace.write(path, `${JSON.stringify(state)}\n`);
}

function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
