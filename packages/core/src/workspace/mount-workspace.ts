import { WorkspaceError, type WorkspaceErrorCode } from '../errors/workspace-error.js';
import { confineWorkspace } from './confine-workspace.js';
import { shareStorage } from './storage.js';
import {
  type FileIdentity,
  pathSegments,
  type Reach,
  type Workspace,
  type WorkspaceEntry,
} from './workspace.js';
import { subtreeOf } from './workspace-tree.js';

const REACHES: readonly Reach[] = ['process', 'host', 'cluster'];

/**
 * Mounts workspaces in another one. `mountWorkspace(base, { repo })` reads and writes paths below `repo/` in the workspace `repo`. All
 * other paths, and locks, are in `base`. A directory of that name in `base` is hidden. All users share the mounts, even if `isolation` separates
 * their other files.
 *
 * @example
 * ```ts
 * const files = mountWorkspace(new LocalWorkspace('./data'), { repo: new LocalWorkspace('.', { readOnly: true }) });
 * await readText(files, 'repo/README.md');
 * ```
 * @throws {WorkspaceError} `invalid_path` when a mount is not a single directory name.
 */
export function mountWorkspace(base: Workspace, mounts: Readonly<Record<string, Workspace>>): Workspace {
  // Long because it maps each operation of a workspace to the mount that a path belongs to.
  const mounted = new Map(Object.entries(mounts).map(([name, workspace]) => [singleName(name), workspace]));
  const reaches = [base, ...mounted.values()].map(({ reach }) => REACHES.indexOf(reach));

  /** Runs an operation in the workspace that `path` belongs to. */
  async function within<T>(
    path: string,
    operation: (workspace: Workspace, path: string) => Promise<T>,
  ): Promise<T> {
    const [name = '', ...rest] = pathSegments(path);
    const workspace = mounted.get(name);
    if (workspace === undefined) return operation(base, path);
    try {
      return await operation(workspace, rest.join('/'));
    } catch (error) {
      if (!WorkspaceError.isInstance(error)) throw error;
      const message = `In ${JSON.stringify(name)}: ${error.message}`;
      throw new WorkspaceError(error.code as WorkspaceErrorCode, path, message, { cause: error });
    }
  }

  const whole: Workspace = {
    reach: REACHES[Math.min(...reaches)] ?? base.reach,
    read: (path, range) => within(path, (workspace, inner) => workspace.read(inner, range)),
    write: (path, data, options) => within(path, (workspace, inner) => workspace.write(inner, data, options)),
    append: (path, data) => within(path, (workspace, inner) => workspace.append(inner, data)),
    delete: (path) => within(path, (workspace, inner) => workspace.delete(inner)),
    stat: (path) =>
      within(path, async (workspace, inner) => {
        const entry = await workspace.stat(inner);
        if (workspace === base) return entry;
        if (entry !== undefined) return { ...entry, path: pathSegments(path).join('/') };
        return inner === '' ? directory(pathSegments(path).join('/')) : undefined;
      }),
    identify: (path) =>
      within(path, async (workspace, inner) => {
        const [name = ''] = workspace === base ? [] : pathSegments(path);
        const found = await workspace.identify?.(inner);
        return inMount(name, found ?? { path: inner, id: `${name}:${inner}`, links: 1 });
      }),
    confined: (confine) => {
      const confinedBy = (workspace: Workspace, name = '') =>
        confineWorkspace(workspace, (path, use, file) =>
          confine(name === '' ? path : `${name}/${path}`, use, file && inMount(name, file)),
        );
      return mountWorkspace(
        confinedBy(base),
        Object.fromEntries([...mounted].map(([name, workspace]) => [name, confinedBy(workspace, name)])),
      );
    },
    async *list(path = '', options) {
      const [name, ...rest] = pathSegments(path);
      const workspace = mounted.get(name ?? '');
      if (name !== undefined && workspace === undefined) yield* base.list(path, options);
      else if (name !== undefined && workspace !== undefined) {
        yield* prefixed(name, workspace.list(rest.join('/'), options));
      } else yield* listRoot(options);
    },
    ...(base.replace && {
      replace: (path, kept, data) =>
        within(path, (workspace, inner) =>
          within(kept, async (other, to) => {
            if (workspace === other && workspace.replace) return workspace.replace(inner, to, data);
            throw new WorkspaceError('invalid_path', kept, 'The file and `kept` must be in the same mount.');
          }),
        ),
    }),
    subtree: (path) =>
      mountWorkspace(
        subtreeOf(base, path),
        Object.fromEntries([...mounted].map(([name, workspace]) => [name, subtreeOf(workspace, '')])),
      ),
    ...(base.lock && { lock: base.lock.bind(base) }),
  };
  // The storage stays in `base`.
  shareStorage(whole, base);
  return whole;

  async function* listRoot({ recursive = false } = {}): AsyncIterable<WorkspaceEntry> {
    const entries = new Map<string, WorkspaceEntry>();
    for await (const entry of base.list('')) entries.set(entry.path, entry);
    for (const name of mounted.keys()) entries.set(name, directory(name));
    // Whole paths sort `a.txt` before `a/b`, so the contents of a directory get their own sort key.
    const places = [...entries].flatMap(([name, { type, isLink }]) =>
      recursive && type === 'directory' && !isLink ? [name, `${name}/`] : [name],
    );
    for (const place of places.sort()) {
      const entry = entries.get(place);
      if (entry) yield entry;
      else yield* whole.list(place.slice(0, -1), { recursive });
    }
  }
}

function inMount(name: string, file: FileIdentity): FileIdentity {
  return name === '' ? file : { ...file, path: `${name}/${file.path}` };
}

async function* prefixed(
  name: string,
  entries: AsyncIterable<WorkspaceEntry>,
): AsyncIterable<WorkspaceEntry> {
  for await (const entry of entries) yield { ...entry, path: `${name}/${entry.path}` };
}

function directory(path: string): WorkspaceEntry {
  return { path, type: 'directory', size: 0, modifiedAt: new Date(0).toISOString() };
}

function singleName(name: string): string {
  const [segment, ...rest] = pathSegments(name);
  if (segment !== undefined && rest.length === 0) return segment;
  throw new WorkspaceError(
    'invalid_path',
    name,
    `The mount ${JSON.stringify(name)} is not a single directory name.`,
  );
}
