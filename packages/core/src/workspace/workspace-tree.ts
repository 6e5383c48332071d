import { WorkspaceError } from '../errors/workspace-error.js';
import { confineWorkspace } from './confine-workspace.js';
import { routedWorkspace } from './routed-workspace.js';
import { pathSegments, STORAGE, type Workspace } from './workspace.js';

/** Opens a directory (`''` for the root) of any workspace, like {@link Workspace.subtree}. */
export function subtreeOf(workspace: Workspace, path: string): Workspace {
  return workspace.subtree?.(path) ?? below(workspace, path, true);
}

/**
 * Opens the directory `root` as a workspace by adding a prefix to paths. Locks are shared with the whole workspace.
 *
 * @param hidesStorage Whether the tree hides its directories `.x`, and its errors hide the prefix. Default false.
 */
export function below(workspace: Workspace, root: string, hidesStorage = false): Workspace {
  const prefix = pathSegments(root)
    .map((segment) => `${segment}/`)
    .join('');
  const outer = (path: string) => path.slice(prefix.length);
  const { identify, ...tree } = routedWorkspace(workspace, {
    route(path) {
      // Normalize before adding the prefix, because `..` would lead out of the tree.
      const inner = pathSegments(path).join('/');
      if (hidesStorage) assertVisible(path);
      return { workspace, path: prefix + inner, outer };
    },
    reword: (message) => (hidesStorage ? message.replaceAll(prefix, '') : undefined),
  });
  return {
    ...tree,
    ...(identify && workspace.identify && { identify }),
    confined: (confine) => {
      const confined = confineWorkspace(workspace, (path, use, file) =>
        confine(outer(path), use, file && { ...file, path: outer(file.path) }),
      );
      return below(confined, root, hidesStorage);
    },
    async *list(path, options) {
      for await (const entry of tree.list(path, options))
        if (!hidesStorage || !isStorage(entry.path)) yield entry;
    },
  };
}

function assertVisible(path: string): void {
  if (!isStorage(pathSegments(path).join('/'))) return;
  throw new WorkspaceError(
    'outside_workspace',
    path,
    `${JSON.stringify(path)} is a reserved name in this workspace. Use another name.`,
  );
}

function isStorage(path: string): boolean {
  return path.split('/').some((segment) => segment.toLowerCase() === STORAGE);
}
