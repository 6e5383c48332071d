import { parseWith, type Workspace } from '@x/core';
import { z } from 'zod';
import { readIfFound } from '../memory-files.js';
import { hashOf, type NotePositions, positionsSchema } from './consolidation-state.js';

const FOLDER = 'memory/.versions';

const versionSchema = z.object({ text: z.string(), notes: positionsSchema });

/** An earlier MEMORY.md. */
export interface MemoryVersion {
  readonly id: string;
  /** When it was replaced. ISO 8601, UTC. */
  readonly replacedAt: string;
}

/** Keeps a text, and which notes it holds, before it is replaced. Keeping the same again changes nothing. */
export async function keepVersion(
  workspace: Workspace,
  prefix: string,
  { text, notes, at }: { readonly text: string; readonly notes: NotePositions; readonly at: string },
): Promise<void> {
  const data = JSON.stringify({ text, notes });
  await workspace.write(
    `${prefix}${FOLDER}/${at.replaceAll(':', '-')}~${hashOf(data).slice(0, 8)}.json`,
    data,
  );
}

/** The versions of a prefix, the newest first. */
export async function listVersions(workspace: Workspace, prefix: string): Promise<MemoryVersion[]> {
  const folder = `${prefix}${FOLDER}/`;
  const versions: MemoryVersion[] = [];
  for await (const { path } of workspace.list(`${prefix}${FOLDER}`)) {
    const id = path.slice(folder.length).replace(/\.json$/, '');
    const [day, time] = (id.split('~')[0] ?? '').split('T');
    if (time !== undefined) versions.push({ id, replacedAt: `${day}T${time.replaceAll('-', ':')}` });
  }
  return versions.sort((left, right) => (left.id < right.id ? 1 : -1));
}

/** What a version holds; `undefined` when there is none of that id. The id is only compared with those there are. */
export async function readVersion(
  workspace: Workspace,
  prefix: string,
  id: string,
): Promise<{ readonly text: string; readonly notes: NotePositions } | undefined> {
  if (!(await listVersions(workspace, prefix)).some((version) => version.id === id)) return undefined;
  const path = `${prefix}${FOLDER}/${id}.json`;
  const text = await readIfFound(workspace, path);
  return text === undefined ? undefined : parseWith(versionSchema, JSON.parse(text), `version ${path}`);
}

/** Deletes all but the newest versions. */
export async function dropOldVersions(workspace: Workspace, prefix: string, keep: number): Promise<void> {
  for (const { id } of (await listVersions(workspace, prefix)).slice(keep)) {
    await workspace.delete(`${prefix}${FOLDER}/${id}.json`);
  }
}
