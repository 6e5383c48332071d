import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { isUnreadable, SessionLeaseError, SessionStoreError } from '../errors/session-errors.js';
import { WorkspaceError, type WorkspaceErrorCode } from '../errors/workspace-error.js';
import { base64 } from '../lib/base64.js';
import type { JsonObject } from '../lib/json.js';
import { errorText } from '../lib/text.js';
import type { Message } from '../messages/message.js';
import { isWithin, TREES } from '../workspace/agent-files.js';
import { storageOf } from '../workspace/storage.js';
import type { Workspace } from '../workspace/workspace.js';
import { type RecordPlace, recordSets } from './collections.js';
import { COLLECTIONS, ifFound, sessionPrefix } from './files/session-files.js';
import { deleteUnlessLeased } from './held-sessions.js';
import { SessionKey, type SessionKeyParts } from './session-key.js';
import type { SessionStore } from './session-store.js';

/** Folder names that are levels of a path themselves, such as `users/<user>`. */
const LEVELS: ReadonlySet<string> = new Set(['tenants', 'users', 'agents']);

const part = z.string().min(1);
const scopeSchema = z.strictObject({ tenantId: part.optional(), userId: part });

/** A user, with or without a tenant. */
export type UserScope = z.input<typeof scopeSchema>;

/** The stores that hold users' data. */
export interface UserPlaces {
  readonly session: SessionStore;
  /** See `storageOf`. */
  readonly storage: Workspace;
  /** The workspace of the agents, if it differs from the storage. It contains the users' own files. */
  readonly workspace?: Workspace | undefined;
}

/** The result of `eraseUser`. */
export interface ErasedUser {
  /** Number of deleted sessions (of all agents and subagents) and records of collections. */
  readonly sessions: number;
  /** Number of deleted files: logs, memory, evicted results, plans, tasks, and files of the user's tools. */
  readonly files: number;
  /** Sessions and records that were kept because a call is running in them. Then all files are kept, too. Erase again after the call. */
  readonly busy: readonly RecordPlace[];
}

/** A session, a record of a collection, or a file of a user, as `exportUser` yields it. */
export type UserRecord =
  | {
      readonly type: 'session';
      /** For a record of a collection: the name of the collection. */
      readonly collection?: string;
      readonly key: SessionKeyParts;
      readonly head: JsonObject;
      readonly messages: readonly Message[];
    }
  | { readonly type: 'file'; readonly path: string; readonly base64: string };

/**
 * Deletes all data of a user from a store and a storage. You cannot undo it. The index of memory is a separate file, which only
 * `HarnessAgent.eraseUser` clears.
 *
 * @throws {InvalidInputError} for a scope without a user.
 * @throws {SessionStoreError} when the store cannot be reached, lists an unreadable session, or cannot delete a session.
 * @throws {WorkspaceError} when files cannot be deleted. Both errors come at the end, after everything else was deleted.
 */
export async function eraseUser(places: UserPlaces, scope: UserScope): Promise<ErasedUser> {
  const { session } = places;
  const user = parseWith(scopeSchema, scope, 'user scope');
  const busy: RecordPlace[] = [];
  let sessions = 0;
  let files = 0;
  const rest = new Failures();
  for (const { collection, records } of (await rest.collect(() => recordSets(session))) ?? []) {
    const keys: SessionKey[] = [];
    // A store lists all readable sessions before it throws.
    await rest.collect(async () => {
      for await (const key of keysOf(records, user)) keys.push(key);
    });
    for (const key of keys) {
      await rest.collect(async () => {
        if ((await deleteUnlessLeased(records, key)) === 'busy') busy.push({ key, collection });
        else sessions++;
      });
    }
  }
  // Files are kept while sessions are busy: the store may keep sessions among them, and a running call writes to its log.
  for (const storage of busy.length > 0 ? [] : storagesOf(places)) {
    for (const folder of (await rest.collect(() => foldersOf(storage, placeOf(user)))) ?? [])
      files += (await rest.collect(() => remove(storage, folder))) ?? 0;
  }
  rest.report();
  return { sessions, files, busy };
}

/**
 * Deletes a session with its subagents' sessions, logs, evicted results, plans and tasks. Files that tools wrote stay. You cannot
 * undo it.
 *
 * @example
 * ```ts
 * const { sessions, files } = await eraseSession({ session: agent.session, storage: agent.storage }, agent.keyOf(context));
 * ```
 * @returns How many sessions and files were deleted.
 * @throws {SessionLeaseError} `lease_unavailable` while a call runs in the session or in one of its subagents. Then all files are kept.
 * @throws {SessionStoreError} if the store cannot be reached, or cannot delete a session.
 * @throws {WorkspaceError} if files cannot be deleted. Both errors come at the end, after everything else was deleted.
 */
export async function eraseSession(
  { session, storage }: Pick<UserPlaces, 'session'> & { readonly storage: Workspace | undefined },
  key: SessionKey,
): Promise<Omit<ErasedUser, 'busy'>> {
  const { tenantId, userId, agentId, sessionId } = key.parts;
  let sessions = 0;
  const children: SessionKey[] = [];
  const busy = new Set<string>();
  const rest = new Failures();
  for (const { records } of (await rest.collect(() => recordSets(session))) ?? []) {
    const found: SessionKey[] = [key];
    try {
      for await (const { key: each } of records.list({ tenantId, userId })) {
        const { parts } = each;
        const isChild = isWithin([parts.agentId ?? '', parts.sessionId], [agentId ?? '', sessionId], '/');
        if (isChild && parts.tenantId === tenantId && parts.userId === userId) found.push(each);
      }
    } catch (error) {
      // Another session is unreadable. Ignore that, because an unreadable session must not prevent erasing this one.
      if (!isUnreadable(error)) rest.add(error);
    }
    for (const each of found) {
      const deletion = await rest.collect(() => deleteUnlessLeased(records, each));
      if (deletion === 'deleted') sessions++;
      if (deletion === 'busy') busy.add(`${each}`);
    }
    children.push(...found.slice(1));
  }
  // A running call writes to its log.
  if (busy.size > 0) rest.add(inUse([...busy]));
  const isKept = storage === undefined || busy.size > 0;
  const files = isKept ? 0 : ((await rest.collect(() => eraseFiles(storage, key, children))) ?? 0);
  rest.report();
  return { sessions, files };
}

function inUse(keys: readonly string[]): SessionLeaseError {
  const text = `A call is running in session ${keys.join(', ')}, so it was not deleted. Stop the call, or delete the session when the call has ended.`;
  return new SessionLeaseError('lease_unavailable', text, { sessionKey: keys[0] ?? '' });
}

/** Deletes the files of a session and its subagents from a storage. Returns the number of files. */
async function eraseFiles(
  storage: Workspace,
  key: SessionKey,
  children: readonly SessionKey[],
): Promise<number> {
  let files = 0;
  const { tenantId, userId } = key.parts;
  const { agentId: agent = '', sessionId: name } = key.path;
  const agents = [placeOf({ tenantId, userId }), ...(agent && ['agents'])].filter(Boolean).join('/');
  for (const folder of agent ? await foldersOf(storage, agents) : [agents]) {
    if (folder.startsWith(`${TREES}/`) || folder.startsWith(`${COLLECTIONS}/`)) continue;
    for (const [home, place] of agent ? await entriesOf(storage, folder) : [['', agents] as const]) {
      // Only folders in which nothing but sessions can have this name.
      const within = folder === agents ? [`${place}/sessions`, `${place}/tasks`] : [place];
      for (const [file, path, type] of (
        await Promise.all(within.map((each) => entriesOf(storage, each)))
      ).flat()) {
        const own = type === 'file' ? file.replace(/\.(md|(log|events)\.jsonl)$/, '') : file;
        const isChild = children.some(
          ({ path: { agentId, sessionId } }) => agentId === home && sessionId === own,
        );
        if (isChild || isWithin([home, own], [agent, name])) files += await remove(storage, path);
      }
    }
  }
  return files;
}

/** Collects errors so that the remaining work continues. */
class Failures {
  readonly #errors: unknown[] = [];

  add(error: unknown): void {
    this.#errors.push(error);
  }

  /** Returns the result of a task, or `undefined` if it fails. Throws errors that do not count. */
  async collect<T>(
    task: () => Promise<T>,
    counts: (error: unknown) => boolean = () => true,
  ): Promise<T | undefined> {
    try {
      return await task();
    } catch (error) {
      if (!counts(error)) throw error;
      this.add(error);
      return undefined;
    }
  }

  /** Throws the collected errors. A single error without a heading is thrown unchanged. Otherwise throws one error with all messages. */
  report(heading?: string): void {
    const [first, ...others] = this.#errors;
    if (first === undefined) return;
    if (others.length === 0 && heading === undefined) throw first;
    const cause = new AggregateError(this.#errors);
    const text = [...(heading === undefined ? [] : [heading]), ...this.#errors.map(errorText)].join('\n');
    if (WorkspaceError.isInstance(first))
      throw new WorkspaceError(first.code as WorkspaceErrorCode, first.path, text, { cause });
    const code = isUnreadable(first) ? 'session_corrupt' : 'session_unavailable';
    throw new SessionStoreError(code, text, { cause });
  }
}

/**
 * Reads all data of a user from a store and a storage: sessions, records of collections, then files. Skips files whose names are
 * not valid UTF-8.
 *
 * @throws {InvalidInputError} for a scope without a user.
 * @throws {SessionStoreError} when the store cannot be reached, or for sessions that cannot be read, after everything else.
 * @throws {WorkspaceError} for files that cannot be read, after everything else.
 */
export async function* exportUser(
  places: UserPlaces,
  scope: UserScope,
): AsyncGenerator<UserRecord, void, undefined> {
  const { session } = places;
  const user = parseWith(scopeSchema, scope, 'user scope');
  const unread = new Failures();
  for (const { collection, records } of await recordSets(session)) {
    const keys = keysOf(records, user);
    // A store lists all readable sessions before it throws.
    for (;;) {
      const { value: key } = (await unread.collect(() => keys.next(), isUnreadable)) ?? {};
      if (!key) break;
      const stored = await unread.collect(() => records.load(key), isUnreadable);
      if (stored === undefined) continue;
      const { head, messages } = stored;
      yield { type: 'session', ...(collection && { collection }), key: key.parts, head, messages };
    }
  }
  for (const storage of storagesOf(places)) {
    const open = [...(await foldersOf(storage, placeOf(user)))];
    // One folder at a time, so that an unreadable folder does not hide others.
    for (const folder of open) {
      for (const [, path, type] of (await unread.collect(() => entriesOf(storage, folder))) ?? []) {
        if (type === 'directory') open.push(path);
        const data = type === 'file' ? await unread.collect(() => ifFound(storage.read(path))) : undefined;
        if (data !== undefined) yield { type: 'file', path, base64: base64(data) };
      }
    }
  }
  unread.report('These could not be exported, everything else was:');
}

/** Returns the storage of the agents, and the storage of the users' own files. */
function storagesOf({ storage, workspace }: UserPlaces): ReadonlySet<Workspace> {
  return new Set(workspace === undefined ? [storage] : [storage, storageOf(workspace)]);
}

async function* keysOf(store: SessionStore, { tenantId, userId }: UserScope) {
  // A scope without a tenant also lists the sessions of all tenants.
  for await (const { key } of store.list({ tenantId, userId }))
    if (key.parts.tenantId === tenantId) yield key;
}

function placeOf(owner: Omit<SessionKeyParts, 'sessionId'>): string {
  return sessionPrefix(SessionKey.of({ ...owner, sessionId: 'any' })).slice(0, -1);
}

/** Returns a folder, and its counterparts below every top folder, such as those of evicted results and plans. */
async function foldersOf(storage: Workspace, place: string, above = ''): Promise<readonly string[]> {
  const folder = `${above}${place}`;
  const folders = (await storage.stat(folder)) === undefined ? [] : [folder];
  for (const [name, path, type] of await entriesOf(storage, above)) {
    if (type === 'directory' && !LEVELS.has(name))
      folders.push(...(await foldersOf(storage, place, `${path}/`)));
  }
  return folders;
}

async function entriesOf(
  storage: Workspace,
  folder: string,
): Promise<readonly (readonly [name: string, path: string, type: string])[]> {
  const entries: (readonly [string, string, string])[] = [];
  for await (const { path, type } of storage.list(folder))
    entries.push([path.slice(path.lastIndexOf('/') + 1), path, type]);
  return entries;
}

/** Deletes a file or folder. Returns the number of files. */
async function remove(storage: Workspace, path: string): Promise<number> {
  let files = 0;
  try {
    for await (const { type } of storage.list(path, { recursive: true })) if (type === 'file') files++;
  } catch (error) {
    // A folder that cannot be listed, such as one with too long paths, can still be deleted.
    if (!WorkspaceError.isInstance(error)) throw error;
  }
  return files + Number((await storage.delete(path)) && files === 0);
}
