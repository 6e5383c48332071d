import { type Workspace, WorkspaceError } from '@x/core';
import { CORE_FILE, readIfFound } from '../memory-files.js';

/** MEMORY.md as it was before the last change, below the prefix. */
export const PREVIOUS_FILE = 'memory/.previous.md';

/**
 * Replaces MEMORY.md and keeps the replaced file. Returns the text of that file, which has what a person saved at this very
 * moment. Without links in the file system, the kept file is a copy of `before`.
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
    if (isReplaced === true) return (await readIfFound(workspace, path)) ?? before;
    await workspace.write(path, before);
  }
  await workspace.write(core, after);
  return before;
}
