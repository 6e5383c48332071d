import { WorkspaceError, type WorkspaceErrorCode } from '../errors/workspace-error.js';
import { confineWorkspace } from './confine-workspace.js';
import { pathSegments, STORAGE, type Workspace } from './workspace.js';

/** Opens a directory (`''` for the root) of any workspace, like {@link Workspace.subtree}. */
export function subtreeOf(workspace: Workspace, path: string): Workspace {
  return workspace.subtree?.(path) ?? below(workspace, path, { assertVisible });
}

interface TreeOptions {
  /** Rejects paths of the tree by throwing. */
  assertVisible?(path: string): void;
}

/** Opens the directory `root` as a workspace by adding a prefix to paths. Locks are shared with the whole workspace. */
export function below(workspace: Workspace, root: string, options: TreeOptions): Workspace {
  const prefix = pathSegments(root)
    .map((segment) => `${segment}/`)
    .join('');
  const { assertVisible: check } = options;
  const within = async <T>(path: string, operation: (path: string) => Promise<T>): Promise<T> => {
    // Normalize before adding the prefix, because `..` would lead out of the tree.
    const inner = pathSegments(path).join('/');
    check?.(path);
    try {
      return await operation(prefix + inner);
    } catch (error) {
      if (check === undefined || !WorkspaceError.isInstance(error)) throw error;
      const message = error.message.replaceAll(prefix, '');
      throw new WorkspaceError(error.code as WorkspaceErrorCode, path, message, { cause: error });
    }
  };
  const { lock, replace, identify } = workspace;
  return {
    reach: workspace.reach,
    read: (path, range) => within(path, (at) => workspace.read(at, range)),
    write: (path, data, how) => within(path, (at) => workspace.write(at, data, how)),
    append: (path, data) => within(path, (at) => workspace.append(at, data)),
    delete: (path) => within(path, (at) => workspace.delete(at)),
    stat: (path) =>
      within(path, async (at) => {
        const entry = await workspace.stat(at);
        return entry && { ...entry, path: entry.path.slice(prefix.length) };
      }),
    ...(identify && {
      identify: (path) =>
        within(path, async (at) => {
          const found = await identify.call(workspace, at);
          return { ...found, path: found.path.slice(prefix.length) };
        }),
    }),
    confined: (confine) => {
      const inner = (path: string) => path.slice(prefix.length);
      const confined = confineWorkspace(workspace, (path, use, file) =>
        confine(inner(path), use, file && { ...file, path: inner(file.path) }),
      );
      return below(confined, root, options);
    },
    async *list(path = '', how) {
      for await (const entry of await within(path, async (at) => workspace.list(at, how))) {
        const inner = entry.path.slice(prefix.length);
        if (check === undefined || !isStorage(inner)) yield { ...entry, path: inner };
      }
    },
    ...(replace && {
      replace: (path, kept, data) =>
        within(path, (at) => within(kept, (to) => replace.call(workspace, at, to, data))),
    }),
    ...(lock && { lock: lock.bind(workspace) }),
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
