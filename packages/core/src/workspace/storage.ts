import { STORAGE, type Workspace } from './workspace.js';
import { below } from './workspace-tree.js';

const trees = new WeakMap<Workspace, Workspace>();

/**
 * Opens the harness's own files in a workspace, which are in its directory `.x/`: sessions, logs, tasks, memory, evicted results and plans.
 * Tools and models cannot see this directory, except for the parts that an agent shows to the session that owns them.
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
  const tree = below(workspace, STORAGE);
  trees.set(workspace, tree);
  trees.set(tree, tree);
  return tree;
}

/** Makes a workspace that is composed of others use the storage of `base`. */
export function shareStorage(workspace: Workspace, base: Workspace): void {
  trees.set(workspace, storageOf(base));
}
