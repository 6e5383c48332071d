import { WorkspaceError } from '../errors/workspace-error.js';
import type { Workspace } from './workspace.js';

/** Says why a file may not be read or written; nothing when it may. */
export type WorkspaceConfine = (
  path: string,
  use: 'read' | 'write',
) => string | undefined | Promise<string | undefined>;

const USES: Readonly<Partial<Record<PropertyKey, readonly ('read' | 'write')[]>>> = {
  read: ['read'],
  write: ['write'],
  append: ['write'],
  delete: ['write'],
  link: ['read', 'write'],
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
        for (const [index, use] of uses.entries()) {
          const path = String(parameters[index]);
          const reason = await confine(path, use);
          if (reason !== undefined) throw new WorkspaceError('refused', path, reason);
        }
        return value.apply(target, parameters);
      };
    },
  });
}
