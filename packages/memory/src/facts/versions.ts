import { type Workspace, WorkspaceError } from '@x/core';
import { CORE_FILE, readIfFound } from '../memory-files.js';
import { hashOf } from '../notes.js';

const FOLDER = 'memory/.versions';

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
  const path = `${prefix}${FOLDER}/${at.replaceAll(':', '-')}~${hashOf(before).slice(0, 8)}.md`;
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

/** Deletes versions: all but the newest `keep`, and those whose text passes a test. */
export async function dropVersions(
  workspace: Workspace,
  prefix: string,
  { keep = Infinity, isGone = () => false }: { keep?: number; isGone?: (text: string) => boolean },
): Promise<void> {
  const paths: string[] = [];
  for await (const { path } of workspace.list(`${prefix}${FOLDER}`)) paths.push(path);
  // Their names begin with the time.
  for (const [index, path] of paths.sort().reverse().entries())
    if (index >= keep || isGone((await readIfFound(workspace, path)) ?? '')) await workspace.delete(path);
}
