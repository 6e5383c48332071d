import { WorkspaceError } from '../errors/workspace-error.js';
import { type HeldLock, STORAGE, type Workspace, type WorkspaceEntry } from './workspace.js';
import { below } from './workspace-tree.js';

const LOCK = 'layout';
const LEVELS = ['tenants', 'users', 'agents'] as const;
const PLACE = '(?:tenants/[^/]+/)?(?:users/[^/]+/)?agents/[^/]+/';
const EVICTED = new RegExp(`^[^/]+/${PLACE}.+/[0-9a-f]{32}\\.txt$`);
const PLAN = new RegExp(`^plans/${PLACE}.+\\.md$`);

const trees = new WeakMap<Workspace, Workspace>();

/**
 * Opens what a harness keeps for itself in a workspace, its directory `.x/`: sessions, logs, tasks, memory, evicted results
 * and plans. Neither tools nor models see it; an agent shows each session what is its own. {@link migrateLayout} moves what
 * a release before 0.2 kept among the agent's files.
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
  const tree = below(workspace, STORAGE, {});
  trees.set(workspace, tree);
  trees.set(tree, tree);
  return tree;
}

/** Gives a workspace that is made of others the storage of one of them. */
export function shareStorage(workspace: Workspace, base: Workspace): void {
  trees.set(workspace, storageOf(base));
}

/**
 * Moves what a release before 0.2 kept among the agent's files into the storage. Run it once, while no agent works. Nothing
 * tells a forged file from one of that release: call it only where no agent, tool or checkout could write such names. A
 * repeated call goes on with what a crash left half done.
 *
 * @returns The old paths of the moved files.
 * @throws {WorkspaceError} `already_exists` when the storage has another file at the new place: neither is changed.
 * `read_only`.
 *
 * @example
 * ```ts
 * const moved = await migrateLayout(new LocalWorkspace('./workspace'));
 * ```
 */
export async function migrateLayout(workspace: Workspace): Promise<readonly string[]> {
  const move = async (lock?: HeldLock) => {
    const moved: string[] = [];
    for await (const path of oldFiles(workspace)) {
      await lock?.check();
      await moveFile(workspace, path);
      moved.push(path);
    }
    for (const name of new Set(moved.map((path) => path.split('/', 1)[0] ?? ''))) {
      if ((await filesBelow(workspace, name)).length === 0) await workspace.delete(name);
    }
    return moved;
  };
  return workspace.lock === undefined ? move() : workspace.lock(LOCK, move);
}

/** A file is at its new place before it leaves the old one. */
async function moveFile(workspace: Workspace, path: string): Promise<void> {
  const target = `${STORAGE}/${path}`;
  const data = await workspace.read(path);
  try {
    await workspace.write(target, data, { ifAbsent: true });
  } catch (error) {
    if (!WorkspaceError.isInstance(error) || error.code !== 'already_exists') throw error;
    // A move that died before its last change left the same file at both places.
    if (!isSame(await workspace.read(target), data)) throw error;
  }
  await workspace.delete(path);
}

function isSame(left: Uint8Array, right: Uint8Array): boolean {
  return left.length === right.length && left.every((byte, index) => byte === right[index]);
}

/**
 * The harness's own files among those of the agent: only what has the form that a release gave it. What tells that a place
 * is the harness's comes last, or a crash would leave the rest behind.
 */
async function* oldFiles(workspace: Workspace): AsyncGenerator<string, void, undefined> {
  for (const name of await directoriesIn(workspace, '')) {
    if (name === STORAGE) continue;
    for (const level of LEVELS) {
      for (const path of await filesBelow(workspace, `${name}/${level}`)) {
        if (EVICTED.test(path) || PLAN.test(path)) yield path;
      }
    }
  }
  yield* oldFilesOf(workspace, '', 0);
}

async function* oldFilesOf(
  workspace: Workspace,
  prefix: string,
  level: number,
): AsyncGenerator<string, void, undefined> {
  for (const folder of LEVELS.slice(level)) {
    const next = LEVELS.indexOf(folder) + 1;
    for (const place of await directoriesIn(workspace, `${prefix}${folder}`)) {
      yield* oldFilesOf(workspace, `${place}/`, next);
    }
  }
  const logs = (await filesBelow(workspace, `${prefix}sessions`)).filter((path) => path.endsWith('.jsonl'));
  const sessions: string[] = [];
  for (const directory of await directoriesIn(workspace, `${prefix}context`)) {
    const files = await filesBelow(workspace, directory);
    const head = `${directory}/head.json`;
    if (files.includes(head)) sessions.push(...files.filter((path) => path !== head), head);
  }
  const isOwn = sessions.length > 0 || logs.some((path) => path.endsWith('.log.jsonl'));
  // At the root, where no agent has its place, notes and tasks may be anybody's.
  if (isOwn && prefix !== '') {
    yield* await filesBelow(workspace, `${prefix}memory`);
    yield* await filesBelow(workspace, `${prefix}tasks`);
    if ((await workspace.stat(`${prefix}MEMORY.md`))?.type === 'file') yield `${prefix}MEMORY.md`;
  }
  if (isOwn) yield* [...sessions, ...logs];
}

function directoriesIn(workspace: Workspace, directory: string): Promise<string[]> {
  return pathsIn(workspace.list(directory), 'directory');
}

function filesBelow(workspace: Workspace, directory: string): Promise<string[]> {
  return pathsIn(workspace.list(directory, { recursive: true }), 'file');
}

async function pathsIn(
  entries: AsyncIterable<WorkspaceEntry>,
  wanted: WorkspaceEntry['type'],
): Promise<string[]> {
  const paths: string[] = [];
  for await (const { path, type } of entries) if (type === wanted) paths.push(path);
  return paths;
}
