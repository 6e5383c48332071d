import { randomBytes } from 'node:crypto';
import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { CapabilityError } from '../../errors/call-errors.js';
import { SessionStoreError } from '../../errors/session-errors.js';
import { WorkspaceError } from '../../errors/workspace-error.js';
import { fileSegment } from '../../lib/encode-segment.js';
import { type HeldLock, type Reach, readText, type Workspace } from '../../workspace/workspace.js';
import { below } from '../../workspace/workspace-tree.js';
import { asCollection, collectionName, filledCollections } from '../collections.js';
import { describeHead, type ListedSession, listAll, parseDescription } from '../listing.js';
import { checkKey, checkScope, type SessionKey, type SessionScope } from '../session-key.js';
import type { HeldLease, SessionLeases } from '../session-leases.js';
import type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  SessionInfo,
  SessionStore,
  StoredSession,
} from '../session-store.js';
import {
  checkChange,
  checkCommit,
  conflict,
  isAnother,
  isKept,
  lastOption,
  remember,
  tokenOf,
} from '../store-rules.js';
import { FileProcesses, fileLeases, readLease } from './file-leases.js';
import { formatManifest, type Manifest, parseManifest, readSegments, writeSegments } from './segments.js';
import {
  asSessionStoreError,
  COLLECTIONS,
  type CommitProgress,
  ifFound,
  isFull,
  prefixesWithin,
  sessionPrefix,
} from './session-files.js';

const optionsSchema = z.strictObject({ lockTimeoutMs: z.number().nonnegative().default(10_000) });
/** The first manifest of a session. It stays for the life of the session, and listings look for it. */
const FIRST = 'head.json';
const LEASE = 'lease.json';

/** The sessions of a workspace, or one of its collections. */
class WorkspaceRecords implements SessionStore {
  readonly reach: Reach;
  readonly workspace: Workspace;
  readonly leases: SessionLeases;
  readonly #lock: NonNullable<Workspace['lock']>;
  readonly #lockTimeoutMs: number;
  readonly #processes: FileProcesses;

  /** @throws {CapabilityError} when the workspace has no locks, because two writers could then both succeed. */
  constructor(workspace: Workspace, lockTimeoutMs: number, processes = new FileProcesses(workspace)) {
    const lock = (workspace as Workspace | undefined)?.lock;
    if (lock === undefined) {
      throw new CapabilityError(
        'workspace.lock',
        'WorkspaceSession needs a workspace with locks, or two writers could overwrite each other. Use a ' +
          'workspace that implements `lock`, such as LocalWorkspace, or another session store.',
      );
    }
    this.workspace = workspace;
    this.#lock = lock.bind(workspace);
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#processes = processes;
    this.reach = workspace.reach;
    this.leases = fileLeases({
      workspace,
      processes,
      pathOf: (key) => `${directoryOf(key)}/${LEASE}`,
      locked: (key, task) => this.#locked(key, directoryOf(key), task),
      tidy: async (key) => {
        const isSession = (await workspace.stat(`${directoryOf(key)}/${FIRST}`)) !== undefined;
        if (!isSession) await workspace.delete(directoryOf(key));
      },
    });
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options);
    const directory = directoryOf(key);
    return asSessionStoreError(key, async () => {
      let failed: { readonly error: unknown; readonly segments: string } | undefined;
      for (;;) {
        const stored = (await this.#read(directory, key)).manifest;
        if (stored === undefined) return undefined;
        // Report damage only if the same segments fail twice, because a commit may have replaced them in between.
        const segments = JSON.stringify(stored.segments);
        if (failed?.segments === segments) throw failed.error;
        try {
          const messages = await readSegments(this.workspace, directory, stored.segments, last);
          const { version, head, updatedAt } = stored;
          return { token: tokenOf(stored), version, head, messages, updatedAt };
        } catch (error) {
          failed = { error, segments };
        }
      }
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const directory = directoryOf(key);
    const progress: CommitProgress = { outcome: 'none' };
    const write = async () => {
      checkChange(change);
      const { manifest: stored, names } = await this.#read(directory, key);
      const old = stored?.segments ?? [];
      const messages = old.reduce((sum, segment) => sum + segment.messages, 0);
      const lease = change.fence === undefined ? undefined : await this.#lease(directory);
      const applied = checkCommit(key, change, stored && { ...stored, messages }, lease?.fence);
      if (applied !== undefined) return applied;

      const segments = await writeSegments(this.workspace, directory, old, change);
      const updatedAt = new Date().toISOString();
      const next = {
        key,
        incarnation: stored?.incarnation ?? randomBytes(8).toString('hex'),
        operations: remember(stored?.operations ?? [], change.operation),
        version: (stored?.version ?? 0) + 1,
        head: change.head,
        segments,
        createdAt: stored?.createdAt ?? updatedAt,
        updatedAt,
      };
      const name = stored === undefined ? FIRST : nameOf(next);
      progress.outcome = 'unknown';
      await this.#create(directory, name, next, change);

      // Committed. If a file cannot be deleted now, a later commit deletes it. Only files that were listed before this commit are
      // deleted: newer files may belong to a commit that continues from here.
      const counting = new Set([FIRST, LEASE, name, ...segments.map(({ file }) => file)]);
      const useless = names.filter((each) => !counting.has(each));
      await Promise.all(useless.map((each) => this.workspace.delete(`${directory}/${each}`))).catch(() => {});
      return next.version;
    };
    return this.#locked(key, directory, write, progress);
  }

  async delete(key: SessionKey, options: DeleteOptions = {}): Promise<boolean> {
    const directory = directoryOf(key);
    const { token } = options;
    const remove = async () => {
      const lease = options.unlessLeased ? await this.#lease(directory) : undefined;
      if (isKept(lease, options)) return false;
      // Without a token, an unreadable session is deleted, too.
      if (token !== undefined && isAnother((await this.#read(directory, key)).manifest, token)) return false;
      const names = await this.#names(directory);
      // Delete the first manifest first: without it, the files that a crash leaves are not a session. Only files listed before are
      // deleted, so that a session that is started in the meantime loses nothing.
      const existed = await this.workspace.delete(`${directory}/${FIRST}`);
      for (const name of names) if (name !== FIRST) await this.workspace.delete(`${directory}/${name}`);
      if ((await this.#names(directory)).length === 0) await this.workspace.delete(directory);
      return existed;
    };
    const timeoutMs = this.#lockTimeoutMs;
    return asSessionStoreError(key, () =>
      this.#lock(directory, remove, { timeoutMs }).catch((error: Error) => {
        // A lock file needs space, too. If the disk is full, delete without the lock.
        if (WorkspaceError.isInstance(error) && isFull(error)) return remove();
        throw error;
      }),
    );
  }

  /** Lists sessions, newest first. Unreadable sessions are reported by an error after all others have been listed. */
  async *list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    checkScope(scope);
    const infos: Omit<ListedSession, 'id'>[] = [];
    const errors: SessionStoreError[] = [];
    await asSessionStoreError(undefined, async () => {
      for await (const directory of this.#directoriesWithin(scope)) {
        try {
          const info = await asSessionStoreError(undefined, () => this.#describe(directory));
          if (info?.key.isWithin(scope)) infos.push(info);
        } catch (error) {
          if (!SessionStoreError.isInstance(error)) throw error;
          errors.push(error);
        }
      }
    });
    yield* listAll(infos, options, errors);
  }

  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    const folder = below(this.workspace, `${COLLECTIONS}/${collectionName(name)}`);
    return asCollection(new WorkspaceRecords(folder, this.#lockTimeoutMs, this.#processes), name);
  }

  collections(): AsyncGenerator<string, void, undefined> {
    return filledCollections(this.#collectionNames(), (name) => this.collection(name));
  }

  async *#collectionNames(): AsyncGenerator<string, void, undefined> {
    for await (const { path, type } of this.workspace.list(COLLECTIONS))
      if (type === 'directory') yield path.slice(COLLECTIONS.length + 1);
  }

  /** Lists the directories of sessions that a scope allows. If the scope names the session, lists only its directory. */
  async *#directoriesWithin(scope: SessionScope): AsyncGenerator<string, void, undefined> {
    const only = scope.sessionId === undefined ? '' : `/${fileSegment(scope.sessionId)}`;
    for await (const prefix of prefixesWithin(this.workspace, scope)) {
      for await (const { path, type } of this.workspace.list(`${prefix}context`))
        if (type === 'directory' && path.endsWith(only)) yield path;
    }
  }

  async #describe(directory: string): Promise<Omit<ListedSession, 'id'> | undefined> {
    const { manifest } = await this.#read(directory);
    if (manifest === undefined) return undefined;
    const { key, version, head, segments, createdAt, updatedAt } = manifest;
    const messages = segments.reduce((sum, segment) => sum + segment.messages, 0);
    const bytes = segments.reduce((sum, segment) => sum + segment.bytes, 0) - messages;
    return { key, version, createdAt, updatedAt, messages, bytes, ...parseDescription(describeHead(head)) };
  }

  #lease(directory: string): Promise<HeldLease | undefined> {
    return readLease(this.workspace, `${directory}/${LEASE}`);
  }

  #locked<T>(
    key: SessionKey,
    directory: string,
    task: (lock: HeldLock) => Promise<T>,
    progress?: CommitProgress,
  ): Promise<T> {
    const options = { timeoutMs: this.#lockTimeoutMs };
    return asSessionStoreError(key, () => this.#lock(directory, task, options), progress);
  }

  /** Returns the newest manifest in a directory (`undefined` if there is no session) and the names of all its files. */
  async #read(
    directory: string,
    key?: SessionKey,
  ): Promise<{ readonly manifest: Manifest | undefined; readonly names: readonly string[] }> {
    for (;;) {
      const [first, names] = await Promise.all([
        this.#manifest(directory, FIRST, key),
        this.#names(directory),
      ]);
      if (first === undefined) return { manifest: undefined, names };
      const newest = newestOf(names, first.incarnation);
      const manifest = newest === undefined ? first : await this.#manifest(directory, newest, key);
      // The manifest is gone because a newer one replaced it.
      if (manifest !== undefined) return { manifest, names };
    }
  }

  async #manifest(directory: string, name: string, key?: SessionKey): Promise<Manifest | undefined> {
    const path = `${directory}/${name}`;
    const text = await ifFound(readText(this.workspace, path));
    return text === undefined ? undefined : parseManifest(path, text, key);
  }

  async #names(directory: string): Promise<readonly string[]> {
    const names: string[] = [];
    for await (const { path } of this.workspace.list(directory)) names.push(path.slice(directory.length + 1));
    return names;
  }

  /** @throws {SessionConflictError} when another writer created this version or a later one. */
  async #create(
    directory: string,
    name: string,
    next: Omit<Manifest, 'format'>,
    change: SessionChange,
  ): Promise<void> {
    const path = `${directory}/${name}`;
    try {
      await this.workspace.write(path, formatManifest(next), { ifAbsent: true });
      const names = await this.#names(directory);
      if ((newestOf(names, next.incarnation) ?? FIRST) === name) return;
    } catch (error) {
      if (!WorkspaceError.isInstance(error) || error.code !== 'already_exists') throw error;
    }
    // A retry after a lost reply finds its own manifest. If later versions have replaced this one, its name was free again. The
    // newest manifest lists the operations that led to it.
    const newest = (await this.#read(directory, next.key)).manifest;
    if (newest?.operations.some((known) => change.operation.startsWith(known))) return;
    const own = await ifFound(readText(this.workspace, path));
    if (own === formatManifest(next)) await this.workspace.delete(path);
    throw conflict(next.key, change.expected, newest?.version ?? 0);
  }
}

/**
 * Stores sessions as files of a workspace. This is the default store of an agent. A session is the directory
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]context/<session>/`. It has segments with one message per line, and one
 * manifest per version that lists the valid segments: `head.json` for the first, `head-<incarnation>-<version>.json` for others.
 *
 * A commit appends to the last segment and creates the next manifest. Only one writer can create a given manifest, so this is a
 * compare-and-set on every file system, even if a writer was suspended. The lock only prevents conflicts that would waste work. The
 * cost of a commit is proportional to the data that it adds. After a crash, bytes that no manifest lists are ignored.
 *
 * @example
 * ```ts
 * const store = new WorkspaceSession(new LocalWorkspace('./data'));
 * ```
 */
export class WorkspaceSession extends WorkspaceRecords {
  /**
   * @param options `lockTimeoutMs`: milliseconds that a commit waits for another commit to the same session; default 10 000.
   * @throws {CapabilityError} when the workspace has no locks.
   * @throws {InvalidInputError} for unknown or invalid options.
   */
  constructor(workspace: Workspace, options: Readonly<z.input<typeof optionsSchema>> = {}) {
    super(workspace, parseWith(optionsSchema, options, 'WorkspaceSession options').lockTimeoutMs);
  }
}

function directoryOf(key: SessionKey): string {
  return `${sessionPrefix(checkKey(key))}context/${key.path.sessionId}`;
}

function nameOf({ incarnation, version }: Pick<Manifest, 'incarnation' | 'version'>): string {
  return `head-${incarnation}-${version}.json`;
}

function newestOf(names: readonly string[], incarnation: string): string | undefined {
  const begin = `head-${incarnation}-`;
  const versions = names.flatMap((name) =>
    name.startsWith(begin) ? Number.parseInt(name.slice(begin.length), 10) : [],
  );
  const version = Math.max(0, ...versions);
  return version === 0 ? undefined : nameOf({ incarnation, version });
}
