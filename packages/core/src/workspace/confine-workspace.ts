import { WorkspaceError } from '../errors/workspace-error.js';
import type { Workspace } from './workspace.js';

/** Says why a file may not be read or written; nothing when it may. */
export type WorkspaceConfine = (
  path: string,
  use: 'read' | 'write',
) => string | undefined | Promise<string | undefined>;

/** What methods do with which of their parameters. */
const USES: Readonly<Partial<Record<PropertyKey, readonly (readonly [number, 'read' | 'write'])[]>>> = {
  read: [[0, 'read']],
  write: [[0, 'write']],
  append: [[0, 'write']],
  delete: [[0, 'write']],
  // What may be read where it is kept has been read.
  replace: [
    [0, 'read'],
    [0, 'write'],
    [1, 'write'],
  ],
};

/** A workspace that refuses some of its files: its methods fail for these with a `WorkspaceError` `refused`. */
export function confineWorkspace(workspace: Workspace, confine: WorkspaceConfine): Workspace {
  return new Proxy(workspace, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      const uses = USES[property];
      if (uses === undefined) return value.bind(target);
      return async (...parameters: unknown[]) => {
        for (const [index, use] of uses) {
          const path = String(parameters[index]);
          const reason = await confine(path, use);
          if (reason !== undefined) throw new WorkspaceError('refused', path, reason);
        }
        return value.apply(target, parameters);
      };
    },
  });
}
