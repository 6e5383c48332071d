import { WorkspaceError } from '../errors/workspace-error.js';
import { encodeSegment } from '../lib/encode-segment.js';
import { COLLECTIONS, sessionPrefix } from '../sessions/files/session-files.js';
import { SessionKey } from '../sessions/session-key.js';
import { confineWorkspace } from './confine-workspace.js';
import { pathSegments, STORAGE, type Workspace } from './workspace.js';
import { subtreeOf } from './workspace-tree.js';

/** Those who have their files in common; see {@link agentFiles}. */
export const ISOLATIONS = ['user', 'session', 'agent', 'shared'] as const;
export type Isolation = (typeof ISOLATIONS)[number];

/** What of an agent's place in the storage its own session may read. */
const READABLE: ReadonlySet<string> = new Set(['MEMORY.md', 'memory', 'sessions', 'tasks']);
/** The trees of {@link treeOf}, in the storage: each is reached as itself alone. */
export const TREES = 'files';
/** Folders of the storage of which nothing is read: the trees, and the collections of its session store. */
const UNREADABLE: ReadonlySet<string> = new Set([TREES, COLLECTIONS]);
/** What stands between the id of an agent or a session and that of its subagent, in a file's name. */
const NESTED = encodeSegment('/');

interface AgentFilesOptions {
  /** The files of all. */
  readonly workspace: Workspace;
  /** What the harness keeps: see {@link storageOf}. */
  readonly storage: Workspace;
  /**
   * - `user`: each user of a tenant has a tree, `.x/files/[tenants/<tenant>/]users/<user>/`; who has no user works at the root.
   * - `session`: each session has one, `agent`: each agent of a tenant.
   * - `shared`: all work at the root.
   */
  readonly isolation: Isolation;
}

/**
 * Opens the files of a session as its tools see them: a tree of the workspace, and in it, for reading, what the harness
 * keeps for the session's user, or for the session alone where it has no user: evicted results, plans, memory, logs, results
 * of tasks. Those are at the paths by which the harness names them, and in no listing of the root.
 */
export function agentFiles(key: SessionKey, { workspace, storage, isolation }: AgentFilesOptions): Workspace {
  return filesOf(subtreeOf(workspace, treeOf(key, isolation)), storage, ownershipOf(key));
}

function filesOf(tree: Workspace, storage: Workspace, isOwn: (path: string) => boolean): Workspace {
  /** Runs an operation where the path belongs. */
  const route = async <T>(path: string, operation: (of: Workspace) => Promise<T>): Promise<T> => {
    const at = pathSegments(path).join('/');
    const isKept = isOwn(at) && (await storage.stat(at)) !== undefined;
    return operation(isKept ? storage : tree);
  };
  const change = <T>(path: string, operation: (of: Workspace) => Promise<T>): Promise<T> =>
    route(path, (of) => {
      if (of === tree) return operation(of);
      throw new WorkspaceError(
        'read_only',
        path,
        `${JSON.stringify(path)} belongs to the agent itself: you can only read it.`,
      );
    });
  const { lock, replace } = tree;
  return {
    reach: tree.reach,
    read: (path, range) => route(path, (of) => of.read(path, range)),
    stat: (path) => route(path, (of) => of.stat(path)),
    async *list(path = '', options) {
      yield* await route(path, async (of) => of.list(path, options));
    },
    write: (path, data, options) => change(path, (of) => of.write(path, data, options)),
    append: (path, data) => change(path, (of) => of.append(path, data)),
    delete: (path) => change(path, (of) => of.delete(path)),
    identify: (path) =>
      route(path, async (of) => (await of.identify?.(path)) ?? { path, id: path, links: 1 }),
    confined: (confine) =>
      filesOf(confineWorkspace(tree, confine), confineWorkspace(storage, confine), isOwn),
    ...('root' in tree ? { root: tree.root } : {}),
    ...(lock && { lock: lock.bind(tree) }),
    ...(replace && {
      replace: (path, kept, data) =>
        change(path, () => change(kept, () => replace.call(tree, path, kept, data))),
    }),
  };
}

/** The directory of the workspace in which a session works. */
function treeOf(key: SessionKey, isolation: Isolation): string {
  const { tenantId, userId, agentId, sessionId } = key.parts;
  const below = (parts: SessionKey['parts'], rest = '') =>
    `${STORAGE}/${TREES}/${sessionPrefix(SessionKey.of(parts))}${rest}`;
  switch (isolation) {
    case 'shared':
      return '';
    case 'user':
      return userId === undefined ? '' : below({ tenantId, userId, sessionId });
    case 'agent':
      return below({ tenantId, agentId, sessionId });
    case 'session':
      return below(key.parts, `sessions/${key.path.sessionId}`);
  }
}

/**
 * Tells the paths of the storage that are a session's own. With a user, all of that user's; without one, those of this
 * session and of the sessions that its agent gave to subagents.
 */
function ownershipOf(key: SessionKey): (path: string) => boolean {
  const { tenantId, userId } = key.parts;
  const home = `${sessionPrefix(SessionKey.of({ tenantId, userId, sessionId: 'any' }))}agents/`;
  const { agentId: ownAgent = '', sessionId: ownSession } = key.path;
  return (path) => {
    if (UNREADABLE.has(path.split('/', 1)[0]?.toLowerCase() ?? '')) return false;
    // Evicted results and plans have a folder before the place of their user and agent; the rest is in that place.
    const at = /(?:^|\/)(?=(?:tenants|users|agents)\/)/.exec(path);
    const start = at === null ? -1 : at.index + at[0].length;
    if (start < 0 || !path.startsWith(home, start) || /(?:^|\/)\./.test(path)) return false;
    const [agent = '', first = '', ...rest] = path.slice(start + home.length).split('/');
    if (start === 0 && !READABLE.has(first)) return false;
    if (userId !== undefined) return true;
    const session = start > 0 ? [first, ...rest] : first === 'sessions' || first === 'tasks' ? rest : [];
    // Plans and logs are files, named by the session with an ending; elsewhere an ending is part of the session's own name.
    const ending = path.startsWith('plans/')
      ? '.md'
      : first === 'sessions' && start === 0
        ? '.log.jsonl'
        : '';
    const [name = ''] = session;
    const isFile = session.length === 1 && ending !== '' && name.endsWith(ending);
    return isWithin([agent, isFile ? name.slice(0, -ending.length) : name], [ownAgent, ownSession]);
  };
}

type Ids = readonly [agent: string, session: string];

/** Returns whether a session is another, or was given by it to a subagent: behind its ids stand as many agents as tasks. */
export function isWithin(ids: Ids, of: Ids, separator = NESTED): boolean {
  const [agents, tasks] = ids.map((id, at) =>
    id.startsWith(`${of[at]}${separator}`) || id === of[at]
      ? id.slice(of[at]?.length).split(separator).length
      : Number.NaN,
  );
  return agents === tasks;
}
