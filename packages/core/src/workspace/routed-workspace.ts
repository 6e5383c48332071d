import { WorkspaceError, type WorkspaceErrorCode } from '../errors/workspace-error.js';
import type { Workspace } from './workspace.js';

/** The location of a file in another workspace. */
export interface Route {
  readonly workspace: Workspace;
  readonly path: string;
  /** Converts a path of that workspace to a path of the routed workspace. */
  outer(path: string): string;
}

interface RouteOptions {
  /** Finds the location of a file. Throws if the file must not be read, or must not be changed. */
  route(path: string, isChange: boolean): Route | Promise<Route>;
  /** Rewords the message of an error. If it returns `undefined`, the error is thrown unchanged. Default: all errors are. */
  reword?(message: string, route: Route): string | undefined;
}

/** Returns a workspace whose files are in other workspaces. Locks are in `base`. */
export function routedWorkspace(base: Workspace, { route, reword }: RouteOptions): Workspace {
  const within = async <T>(
    path: string,
    isChange: boolean,
    operation: (at: Route) => Promise<T>,
  ): Promise<T> => {
    const at = await route(path, isChange);
    try {
      return await operation(at);
    } catch (error) {
      if (!WorkspaceError.isInstance(error)) throw error;
      const message = reword?.(error.message, at);
      if (message === undefined) throw error;
      throw new WorkspaceError(error.code as WorkspaceErrorCode, path, message, { cause: error });
    }
  };
  const { lock, replace } = base;
  return {
    reach: base.reach,
    read: (path, range) => within(path, false, (at) => at.workspace.read(at.path, range)),
    write: (path, data, options) => within(path, true, (at) => at.workspace.write(at.path, data, options)),
    append: (path, data) => within(path, true, (at) => at.workspace.append(at.path, data)),
    delete: (path) => within(path, true, (at) => at.workspace.delete(at.path)),
    stat: (path) =>
      within(path, false, async (at) => {
        const entry = await at.workspace.stat(at.path);
        return entry && { ...entry, path: at.outer(entry.path) };
      }),
    identify: (path) =>
      within(path, false, async (at) => {
        const found = await at.workspace.identify?.(at.path);
        // Without `identify`, a file has only one name.
        if (found === undefined) return { path: at.outer(at.path), id: at.outer(at.path), links: 1 };
        return { ...found, path: at.outer(found.path) };
      }),
    async *list(path = '', options) {
      const { workspace, path: inner, outer } = await route(path, false);
      for await (const entry of workspace.list(inner, options)) yield { ...entry, path: outer(entry.path) };
    },
    ...(replace && {
      replace: (path, kept, data) =>
        within(path, true, async ({ workspace, path: inner }) => {
          const to = await route(kept, true);
          if (workspace === to.workspace && workspace.replace) return workspace.replace(inner, to.path, data);
          throw new WorkspaceError('invalid_path', kept, 'The file and `kept` must be in the same mount.');
        }),
    }),
    ...(lock && { lock: lock.bind(base) }),
  };
}
