import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { base64 } from '../lib/base64.js';
import type { JsonObject } from '../lib/json.js';
import type { Message } from '../messages/message.js';
import type { Workspace } from '../workspace/workspace.js';
import { sessionPrefix } from './files/session-files.js';
import { SessionKey, type SessionKeyParts } from './session-key.js';
import type { SessionStore } from './session-store.js';
import { unlessBusy } from './session-turn.js';

/** Folders of a storage that are levels of places themselves. */
const LEVELS: ReadonlySet<string> = new Set(['tenants', 'users', 'agents']);

const part = z.string().min(1);
const scopeSchema = z.strictObject({ tenantId: part.optional(), userId: part });

/** A person: a user of a tenant, or of none. */
export type UserScope = z.input<typeof scopeSchema>;

/** Where all that is kept of users lies. */
export interface UserPlaces {
  readonly session: SessionStore;
  /** See `storageOf`. */
  readonly storage: Workspace;
}

/** What `eraseUser` removed. */
export interface ErasedUser {
  /** Sessions that the store held: of all agents, their subagents and records included. */
  readonly sessions: number;
  /** Files: logs, memory, evicted results, plans, tasks, and the files of the user's tools. */
  readonly files: number;
  /** Sessions that are left because a call runs in them. Erase again when it has ended. */
  readonly busy: readonly SessionKey[];
}

/** A session or a file of a user, as `exportUser` yields it. */
export type UserRecord =
  | {
      readonly type: 'session';
      readonly key: SessionKeyParts;
      readonly head: JsonObject;
      readonly messages: readonly Message[];
    }
  | { readonly type: 'file'; readonly path: string; readonly base64: string };

/**
 * Deletes all that a store and a storage hold of a user. It cannot be undone. An index of memory is a file of its own:
 * `HarnessAgent.eraseUser` clears that too.
 *
 * @throws {InvalidInputError} for a scope without user.
 * @throws {SessionStoreError} when the store cannot be reached, or lists a session that it cannot read. What could be deleted is gone.
 */
export async function eraseUser({ session, storage }: UserPlaces, scope: UserScope): Promise<ErasedUser> {
  const user = parseWith(scopeSchema, scope, 'user scope');
  const keys: SessionKey[] = [];
  const busy: SessionKey[] = [];
  let damage: { readonly error: unknown } | undefined;
  try {
    for await (const key of sessionsOf(session, user)) keys.push(key);
  } catch (error) {
    // A store lists all that it can read first.
    damage = { error };
  }
  let sessions = 0;
  for (const key of keys) {
    const existed = await unlessBusy(session, key, () => session.delete(key));
    if (existed === undefined) busy.push(key);
    else if (existed) sessions++;
  }
  let files = 0;
  for await (const folder of foldersOf(storage, user)) {
    for await (const { type } of storage.list(folder, { recursive: true })) if (type === 'file') files++;
    await storage.delete(folder);
  }
  if (damage !== undefined) throw damage.error;
  return { sessions, files, busy };
}

/**
 * Reads all that a store and a storage hold of a user: sessions, then files.
 *
 * @throws {InvalidInputError} for a scope without user.
 * @throws {SessionStoreError} when the store cannot be reached, or a session cannot be read.
 */
export async function* exportUser(
  { session, storage }: UserPlaces,
  scope: UserScope,
): AsyncGenerator<UserRecord, void, undefined> {
  const user = parseWith(scopeSchema, scope, 'user scope');
  for await (const key of sessionsOf(session, user)) {
    const stored = await session.load(key);
    if (stored === undefined) continue;
    yield { type: 'session', key: key.parts, head: stored.head, messages: stored.messages };
  }
  for await (const folder of foldersOf(storage, user)) {
    for await (const { path, type } of storage.list(folder, { recursive: true })) {
      if (type !== 'file') continue;
      yield { type: 'file', path, base64: base64(await storage.read(path)) };
    }
  }
}

async function* sessionsOf(store: SessionStore, { tenantId, userId }: UserScope) {
  // A scope without a tenant lists those of all tenants.
  for await (const { key } of store.list({ tenantId, userId }))
    if (key.parts.tenantId === tenantId) yield key;
}

/** The user's place, and its counterpart in every folder that comes before the place: evicted results, plans, files. */
async function* foldersOf(storage: Workspace, user: UserScope): AsyncGenerator<string, void, undefined> {
  const place = sessionPrefix(SessionKey.of({ ...user, sessionId: 'any' })).slice(0, -1);
  const folders: string[] = [place];
  for await (const { path, type } of storage.list('')) {
    if (type === 'directory' && !LEVELS.has(path)) folders.push(`${path}/${place}`);
  }
  for (const folder of folders) if ((await storage.stat(folder)) !== undefined) yield folder;
}
