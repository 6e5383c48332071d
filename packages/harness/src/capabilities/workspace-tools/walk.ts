import type { Workspace, WorkspaceEntry } from '@x/core';

/** All entries below `path`, depth first and sorted, stepping over directories with an ignored name. */
export async function* walk(
  workspace: Workspace,
  path: string,
  ignore: ReadonlySet<string>,
): AsyncGenerator<WorkspaceEntry> {
  for await (const entry of workspace.list(path)) {
    if (entry.type === 'file') yield entry;
    else if (!ignore.has(entry.path.slice(entry.path.lastIndexOf('/') + 1))) {
      yield entry;
      yield* walk(workspace, entry.path, ignore);
    }
  }
}
