import type { Workspace } from '@x/core';

/** The same files, of which the workspace cannot say that nobody else uses them. */
export function withoutLock(workspace: Workspace): Workspace {
  return new Proxy<Workspace>(workspace, {
    get(target, name) {
      const value: unknown = name === 'lock' ? undefined : Reflect.get(target, name);
      return typeof value === 'function' ? value.bind(target) : value;
    },
  });
}
