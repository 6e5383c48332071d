import type { Workspace } from '@x/core';
import * as z from 'zod';
import { readIfFound } from '../memory-files.js';

const PATH = 'memory/.maintenance_state';
const stateSchema = z.object({ completedAt: z.iso.datetime() });

/** When the last pass over a workspace was completed, by whichever process; `undefined` when none ever was. */
export async function lastPass(workspace: Workspace): Promise<number | undefined> {
  const text = await readIfFound(workspace, PATH);
  if (text === undefined) return undefined;
  try {
    return Date.parse(stateSchema.parse(JSON.parse(text)).completedAt);
  } catch {
    // Whatever it says, a pass too many does no harm.
    return undefined;
  }
}

export async function notePass(workspace: Workspace, now: number): Promise<void> {
  await workspace.write(PATH, `${JSON.stringify({ completedAt: new Date(now).toISOString() })}\n`);
}
