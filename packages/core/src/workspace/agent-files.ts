import { WorkspaceError } from '../errors/workspace-error.js';
import { encodeSegment } from '../lib/encode-segment.js';
import { COLLECTIONS, sessionPrefix } from '../sessions/files/session-files.js';
import { SessionKey } from '../sessions/session-key.js';
import { confineWorkspace } from './confine-workspace.js';
import { routedWorkspace } from './routed-workspace.js';
import { pathSegments, STORAGE, type Workspace } from './workspace.js';
import { subtreeOf } from './workspace-tree.js';

/** Values of `isolation`: the scope within which sessions share files; see {@link agentFiles}. */
export const ISOLATIONS = ['user', 'session', 'agent', 'shared'] as const;
/** The scope within which sessions share files. */
export type Isolation = (typeof ISOLATIONS)[number];

/** Entries of an agent's folder in the storage that its own session may read. */
const READABLE: ReadonlySet<string> = new Set(['MEMORY.md', 'memory', 'sessions', 'tasks']);
/** Folder of the storage with the trees of {@link treeOf}. Each tree is reachable only as the root of its own workspace. */
export const TREES = 'files';
/** Folders of the storage that no session may read: the trees, and the collections of the session store. */
const UNREADABLE: ReadonlySet<string> = new Set([TREES, COLLECTIONS]);
/** Separates the id of an agent or session from that of its subagent in a file name. */
const NESTED = encodeSegment('/');

interface AgentFilesOptions {
  /** The workspace with the files of all sessions. */
  readonly workspace: Workspace;
  /** The harness's own files: see {@link storageOf}. */
  readonly storage: Workspace;
  /**
   * - `user`: each user of a tenant has a tree, `.x/files/[tenants/<tenant>/]users/<user>/`. Sessions without a user work at the root.
   * - `session`: each session has a tree. `agent`: each agent of a tenant has a tree.
   * - `shared`: all sessions work at the root.
   */
  readonly isolation: Isolation;
}

/**
 * Opens the files of a session as its tools see them: a tree of the workspace. The tree also contains, read-only, the data that the harness
 * stores for the session's user (without a user: for the session): evicted results, plans, memory, logs and results of tasks. Those files
 * have the paths that the harness uses for them, but listings of the root do not show them.
 */
export function agentFiles(key: SessionKey, { workspace, storage, isolation }: AgentFilesOptions): Workspace {
  return filesOf(subtreeOf(workspace, treeOf(key, isolation)), storage, ownershipOf(key));
}

function filesOf(tree: Workspace, storage: Workspace, isOwn: (path: string) => boolean): Workspace {
  const view = routedWorkspace(tree, {
    async route(path, isChange) {
      const at = pathSegments(path).join('/');
      const isKept = isOwn(at) && (await storage.stat(at)) !== undefined;
      if (isKept && isChange) {
        throw new WorkspaceError(
          'read_only',
          path,
          `${JSON.stringify(path)} belongs to the agent itself. You can only read it.`,
        );
      }
      return { workspace: isKept ? storage : tree, path, outer: (inner) => inner };
    },
  });
  return {
    ...view,
    confined: (confine) =>
      filesOf(confineWorkspace(tree, confine), confineWorkspace(storage, confine), isOwn),
    ...('root' in tree ? { root: tree.root } : {}),
  };
}

/** Returns the directory of the workspace in which a session works. */
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
 * Returns a test for the storage paths that a session owns. With a user, these are all paths of that user. Without a user, they are
 * those of this session and of its subagents' sessions.
 */
function ownershipOf(key: SessionKey): (path: string) => boolean {
  const { tenantId, userId } = key.parts;
  const home = `${sessionPrefix(SessionKey.of({ tenantId, userId, sessionId: 'any' }))}agents/`;
  const { agentId: ownAgent = '', sessionId: ownSession } = key.path;
  return (path) => {
    if (UNREADABLE.has(path.split('/', 1)[0]?.toLowerCase() ?? '')) return false;
    // Evicted results and plans have a top folder before the path of their user and agent. Everything else is directly in that path.
    const at = /(?:^|\/)(?=(?:tenants|users|agents)\/)/.exec(path);
    const start = at === null ? -1 : at.index + at[0].length;
    if (start < 0 || !path.startsWith(home, start) || /(?:^|\/)\./.test(path)) return false;
    const [agent = '', first = '', ...rest] = path.slice(start + home.length).split('/');
    if (start === 0 && !READABLE.has(first)) return false;
    if (userId !== undefined) return true;
    const session = start > 0 ? [first, ...rest] : first === 'sessions' || first === 'tasks' ? rest : [];
    // Plans and logs are files named `<session><ending>`. Elsewhere an ending is part of the session's name.
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

/** Tests if ids are those of `of`, or of one of its subagents: both ids extend the ids of `of` by the same number of parts. */
export function isWithin(ids: Ids, of: Ids, separator = NESTED): boolean {
  const [agents, tasks] = ids.map((id, at) =>
    id.startsWith(`${of[at]}${separator}`) || id === of[at]
      ? id.slice(of[at]?.length).split(separator).length
      : Number.NaN,
  );
  return agents === tasks;
}
