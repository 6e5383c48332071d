import { STORAGE, type Workspace } from './workspace.js';
import { below } from './workspace-tree.js';

const trees = new WeakMap<Workspace, Workspace>();

/**
 * Opens what a harness keeps for itself in a workspace, its directory `.x/`: sessions, logs, tasks, memory, evicted results
 * and plans. Neither tools nor models see it; an agent shows each session what is its own.
 *
 * @example
 * ```ts
 * const workspace = new LocalWorkspace('./workspace');
 * const store = new WorkspaceSession(storageOf(workspace));
 * ```
 */
export function storageOf(workspace: Workspace): Workspace {
  const known = trees.get(workspace);
  if (known !== undefined) return known;
  const tree = below(workspace, STORAGE, {});
  trees.set(workspace, tree);
  trees.set(tree, tree);
  return tree;
}

/** Gives a workspace that is made of others the storage of one of them. */
export function shareStorage(workspace: Workspace, base: Workspace): void {
  trees.set(workspace, storageOf(base));
}
