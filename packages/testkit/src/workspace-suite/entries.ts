import { type Workspace, WorkspaceError } from '@x/core';
import type { WorkspaceEntry } from '@x/core/store';
import { errorOf } from '../error-of.js';

/** Returns the entries that a workspace lists below a directory, in their order. */
export async function entries(
  workspace: Workspace,
  path?: string,
  recursive = true,
): Promise<WorkspaceEntry[]> {
  const all: WorkspaceEntry[] = [];
  for await (const entry of workspace.list(path, { recursive })) all.push(entry);
  return all;
}

/** Returns the paths of {@link entries}. */
export async function listed(workspace: Workspace, path?: string, recursive = true): Promise<string[]> {
  return (await entries(workspace, path, recursive)).map((entry) => entry.path);
}

/** Returns the code of the `WorkspaceError` that an operation must fail with. */
export async function refusalOf(operation: Promise<unknown>): Promise<string> {
  return (await errorOf(WorkspaceError, operation)).code;
}
