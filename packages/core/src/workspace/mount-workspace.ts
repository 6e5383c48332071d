import { WorkspaceError } from '../errors/workspace-error.js';
import { confineWorkspace } from './confine-workspace.js';
import { routedWorkspace } from './routed-workspace.js';
import { shareStorage } from './storage.js';
import { pathSegments, type Reach, type Workspace, type WorkspaceEntry } from './workspace.js';
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
  const mounted = new Map(Object.entries(mounts).map(([name, workspace]) => [singleName(name), workspace]));
  const reaches = [base, ...mounted.values()].map(({ reach }) => REACHES.indexOf(reach));
  const eachMount = (change: (workspace: Workspace, name: string) => Workspace) =>
    Object.fromEntries([...mounted].map(([name, workspace]) => [name, change(workspace, name)]));
  const routed = routedWorkspace(base, {
    route(path) {
      const [name = '', ...rest] = pathSegments(path);
      const workspace = mounted.get(name);
      if (workspace === undefined) return { workspace: base, path, outer: (inner) => inner };
      return { workspace, path: rest.join('/'), outer: (inner) => inMount(name, inner) };
    },
    reword(message, { workspace, outer }) {
      return workspace === base ? undefined : `In ${JSON.stringify(outer(''))}: ${message}`;
    },
  });
  const whole: Workspace = {
    ...routed,
    reach: REACHES[Math.min(...reaches)] ?? base.reach,
    async stat(path) {
      const [name = '', ...rest] = pathSegments(path);
      const entry = await routed.stat(path);
      return entry ?? (mounted.has(name) && rest.length === 0 ? directory(name) : undefined);
    },
    confined(confine) {
      const confinedBy = (workspace: Workspace, name: string) =>
        confineWorkspace(workspace, (path, use, file) =>
          confine(inMount(name, path), use, file && { ...file, path: inMount(name, file.path) }),
        );
      return mountWorkspace(confineWorkspace(base, confine), eachMount(confinedBy));
    },
    async *list(path = '', options) {
      yield* pathSegments(path).length === 0 ? listRoot(options) : routed.list(path, options);
    },
    subtree: (path) =>
      mountWorkspace(
        subtreeOf(base, path),
        eachMount((workspace) => subtreeOf(workspace, '')),
      ),
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

/** Returns the path of a file in a mount. */
function inMount(name: string, path: string): string {
  return path === '' ? name : `${name}/${path}`;
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
