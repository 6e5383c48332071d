import { WorkspaceError } from '../errors/workspace-error.js';
import { type FileUse, pathSegments, type Workspace, type WorkspaceConfine } from './workspace.js';

/** The use of each path parameter, by method: index of the parameter and use. */
const USES: Readonly<Partial<Record<PropertyKey, readonly (readonly [number, FileUse])[]>>> = {
  read: [[0, 'read']],
  write: [[0, 'write']],
  append: [[0, 'write']],
  delete: [[0, 'write']],
  // The old file is readable at its new path, so it needs read permission, too.
  replace: [
    [0, 'read'],
    [0, 'write'],
    [1, 'write'],
  ],
};

/** Combines rules: a file is denied if any of them denies it. */
export function allOf(confines: readonly (WorkspaceConfine | undefined)[]): WorkspaceConfine | undefined {
  const all = confines.filter((confine) => confine !== undefined);
  if (all.length < 2) return all[0];
  return async (...file) => {
    for (const confine of all) {
      const reason = await confine(...file);
      if (reason !== undefined) return reason;
    }
    return undefined;
  };
}

/**
 * Returns a view of a workspace that rejects symbolic links to a file with another extension: `AGENTS.md` may lead to `CLAUDE.md`, but
 * not to `.env`. Use it for files that go to a model by name, before any other rule is checked.
 */
export function keepingKinds(workspace: Workspace): Workspace {
  return confineWorkspace(workspace, (path, _, file) =>
    file === undefined || kindOf(file.path) === kindOf(path)
      ? undefined
      : `${JSON.stringify(path)} is a symbolic link to a file of another kind.`,
  );
}

function kindOf(path: string): string {
  return /\.[^./]+$/.exec(path)?.[0].toLowerCase() ?? path;
}

/** Returns the rule for the files of a directory, whose paths begin at that directory. */
export function confineBelow(directory: string, confine: WorkspaceConfine): WorkspaceConfine {
  const prefix = pathSegments(directory)
    .map((segment) => `${segment}/`)
    .join('');
  return (path, use, file) => confine(prefix + path, use, file && { ...file, path: prefix + file.path });
}

/** Returns a view of a workspace whose methods fail with a `WorkspaceError` `refused` for files that `confine` denies. */
export function confineWorkspace(workspace: Workspace, confine: WorkspaceConfine | undefined): Workspace {
  if (confine === undefined) return workspace;
  const confined = workspace.confined?.(confine);
  if (confined !== undefined) return confined;
  return new Proxy(workspace, {
    get(target, property) {
      const value: unknown = Reflect.get(target, property, target);
      if (typeof value !== 'function') return value;
      if (property === 'subtree')
        return (path: string) => confineWorkspace(value.call(target, path), confineBelow(path, confine));
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
