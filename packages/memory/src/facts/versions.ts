import { type Workspace, WorkspaceError } from '@x/core';
import { CORE_FILE, readIfFound } from '../memory-files.js';
import { hashOf } from '../notes.js';

const FOLDER = 'memory/.versions';

/** An earlier MEMORY.md. */
export interface MemoryVersion {
  readonly id: string;
  /** When it was replaced. ISO 8601, UTC. */
  readonly replacedAt: string;
}

function versionPath(prefix: string, id: string): string {
  return `${prefix}${FOLDER}/${id}.md`;
}

/**
 * Replaces MEMORY.md and keeps the replaced file as a version. Returns the text of that file, which has what a person saved
 * at this very moment. Without links in the file system, the version is a copy of `before`. `at` is ISO 8601, UTC.
 */
export async function replaceFile(
  workspace: Workspace,
  prefix: string,
  before: string,
  after: string,
  at: string,
): Promise<string> {
  const core = `${prefix}${CORE_FILE}`;
  const path = versionPath(prefix, `${at.replaceAll(':', '-')}~${hashOf(before).slice(0, 8)}`);
  if ((await workspace.stat(core)) !== undefined) {
    const isReplaced = await workspace.replace?.(core, path, after).then(
      () => true,
      (error: unknown) => !WorkspaceError.isInstance(error) && Promise.reject(error),
    );
    if (isReplaced === true) return (await readIfFound(workspace, path)) ?? before;
    if ((await workspace.stat(path)) === undefined) await workspace.write(path, before);
  }
  await workspace.write(core, after);
  return before;
}

/** Lists the versions of a prefix, newest first. */
export async function listVersions(workspace: Workspace, prefix: string): Promise<MemoryVersion[]> {
  const folder = `${prefix}${FOLDER}/`;
  const versions: MemoryVersion[] = [];
  for await (const { path } of workspace.list(`${prefix}${FOLDER}`)) {
    const id = path.slice(folder.length, -'.md'.length);
    const [day, time] = (id.split('~')[0] ?? '').split('T');
    if (time !== undefined) versions.push({ id, replacedAt: `${day}T${time.replaceAll('-', ':')}` });
  }
  return versions.sort((left, right) => (left.id < right.id ? 1 : -1));
}

/** Reads a version; the newest without an id. An id is compared with those that exist before it is part of a path. */
export async function readVersion(
  workspace: Workspace,
  prefix: string,
  wanted: string | undefined,
): Promise<string | undefined> {
  const found = (await listVersions(workspace, prefix)).find(({ id }) => id === (wanted ?? id));
  return found && readIfFound(workspace, versionPath(prefix, found.id));
}

/** Deletes versions: all but the newest `keep`, and those whose text passes a test. */
export async function dropVersions(
  workspace: Workspace,
  prefix: string,
  { keep = Infinity, isGone = () => false }: { keep?: number; isGone?: (text: string) => boolean },
): Promise<void> {
  for (const [index, { id }] of (await listVersions(workspace, prefix)).entries()) {
    const path = versionPath(prefix, id);
    if (index >= keep || isGone((await readIfFound(workspace, path)) ?? '')) await workspace.delete(path);
  }
}
