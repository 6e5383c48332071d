import type { Workspace } from '@x/core';
import { errorText } from '@x/core/internal';
import type { WorkspaceEntry } from '@x/core/store';

/** Lists the entries of a folder. If listing fails, adds the error to `problems` and ends the list. */
export async function* legibleEntries(
  workspace: Workspace,
  folder: string,
  problems: string[],
): AsyncGenerator<WorkspaceEntry> {
  try {
    yield* workspace.list(folder);
  } catch (error) {
    problems.push(`${folder}: ${errorText(error)}`);
  }
}
