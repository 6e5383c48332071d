import type { Workspace } from '@x/core';
import { errorText } from '@x/core/internal';
import type { WorkspaceEntry } from '@x/core/store';

/** The entries of a folder whose files describe something; one that cannot be listed is told of, and harms nothing else. */
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
