import { WorkspaceError } from '../errors/workspace-error.js';
import { type HeldLock, STORAGE, type Workspace, type WorkspaceEntry } from './workspace.js';
import { below } from './workspace-tree.js';

const MARK = `${STORAGE}/layout.json`;
const LOCK = 'layout';
const LEVELS = ['tenants', 'users', 'agents'] as const;
const EVICTED = /\/[0-9a-f]{32}\.txt$/;

const trees = new WeakMap<Workspace, Workspace>();

/**
 * Opens what a harness keeps for itself in a workspace, its directory `.x/`: sessions, logs, tasks, memory, evicted results
 * and plans. Neither tools nor models see it; an agent shows each session what is its own. What a release before 0.2 kept
 * among the agent's files is moved there on first use.
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
  let moving: Promise<void> | undefined;
  const ready = () => {
    moving ??= moveIn(workspace).catch((error: unknown) => {
      moving = undefined;
      throw error;
    });
    return moving;
  };
  const tree = below(workspace, STORAGE, { ready });
  trees.set(workspace, tree);
  trees.set(tree, tree);
  return tree;
}

/** Gives a workspace that is made of others the storage of one of them. */
export function shareStorage(workspace: Workspace, base: Workspace): void {
  trees.set(workspace, storageOf(base));
}

/** Moves an older layout into the storage, once. What a crash left half done is gone on with. */
async function moveIn(workspace: Workspace): Promise<void> {
  if ((await workspace.stat(MARK)) !== undefined) return;
  const move = async (lock?: HeldLock) => {
    const left = new Set<string>();
    for await (const path of oldFiles(workspace)) {
      await lock?.check();
      await moveFile(workspace, path);
      left.add(path.split('/', 1)[0] ?? '');
    }
    for (const name of left) {
      if ((await filesBelow(workspace, name)).length === 0) await workspace.delete(name);
    }
    // A look into a directory leaves no trace.
    if (left.size === 0 && (await workspace.stat(STORAGE)) === undefined) return;
    await workspace.write(MARK, '{"version":2}\n');
  };
  try {
    await (workspace.lock === undefined ? move() : workspace.lock(LOCK, move));
  } catch (error) {
    if (!WorkspaceError.isInstance(error) || error.code !== 'read_only') throw error;
    // Nothing can be moved, and nothing has to be where there is nothing.
    for await (const path of oldFiles(workspace)) {
      const message = `${path} was kept by an earlier release, and has to be moved first: open the workspace once for writing.`;
      throw new WorkspaceError('read_only', path, message, { cause: error });
    }
  }
}

/** A file is at its new place before it leaves the old one. */
async function moveFile(workspace: Workspace, path: string): Promise<void> {
  const target = `${STORAGE}/${path}`;
  try {
    if (workspace.link === undefined) await workspace.write(target, await workspace.read(path));
    else await workspace.link(path, target);
  } catch (error) {
    // Another process, or this one before it died, has moved it.
    const isMoved = WorkspaceError.isInstance(error) && ['already_exists', 'not_found'].includes(error.code);
    if (!isMoved || (await workspace.stat(target)) === undefined) throw error;
  }
  await workspace.delete(path);
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
        if (EVICTED.test(path) || (name === 'plans' && path.endsWith('.md'))) yield path;
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
