import { type Workspace, WorkspaceError } from '@x/core';
import { CORE_FILE, readEdited } from '../memory-files.js';

/** The previous version of MEMORY.md, below the prefix. */
export const PREVIOUS_FILE = 'memory/.previous.md';

/**
 * Replaces MEMORY.md and keeps the replaced file. Returns the text of the replaced file, which may contain a change that a person just saved.
 * If the file system has no hard links, the kept file is a copy of `before`.
 */
export async function replaceFile(
  workspace: Workspace,
  prefix: string,
  before: string,
  after: string,
): Promise<string> {
  const [core, path] = [`${prefix}${CORE_FILE}`, `${prefix}${PREVIOUS_FILE}`];
  if ((await workspace.stat(core)) !== undefined) {
    await workspace.delete(path);
    const isReplaced = await workspace.replace?.(core, path, after).then(
      () => true,
      (error: unknown) => !WorkspaceError.isInstance(error) && Promise.reject(error),
    );
    if (isReplaced === true) return (await readEdited(workspace, path)) ?? before;
    await workspace.write(path, before);
  }
  await workspace.write(core, after);
  return before;
}
