import { rename, rmdir } from 'node:fs/promises';
import { dirname, join } from 'node:path';
import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { WorkspaceError } from '../../errors/workspace-error.js';
import { jsonObjectSchema } from '../../lib/json-schemas.js';
import { readMessages } from '../../messages/check-messages.js';
import type { Message } from '../../messages/message.js';
import { removeTemporaries } from '../../workspace/durable-file.js';
import { LocalWorkspace } from '../../workspace/local-workspace.js';
import { hasEnded } from '../../workspace/lock-holder.js';
import { type HeldLock, readText } from '../../workspace/workspace.js';
import { asCollection } from '../collections.js';
import { describeSession } from '../listing.js';
import { checkKey, type SessionKey, type SessionScope } from '../session-key.js';
import type { SessionLeases } from '../session-leases.js';
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
  lastOf,
  lastWanted,
  remember,
  tokenOf,
} from '../store-rules.js';
import { FileProcesses, fileLeases, newestFence, readLease } from './file-leases.js';
import {
  asSessionStoreError,
  type CommitProgress,
  collectionFolder,
  collectionsIn,
  deleteLocked,
  ifFound,
  listBelowPrefixes,
  listSessions,
  parseStored,
  sessionPrefix,
} from './session-files.js';

const optionsSchema = z.strictObject({
  /** Made when first used. */
  directory: z.string().min(1),
  /** Milliseconds that a commit waits for another one to the same session. */
  lockTimeoutMs: z.number().nonnegative().default(10_000),
});
const FORMAT = 1;
const documentSchema = z.looseObject({
  format: z.literal(FORMAT),
  key: z.unknown(),
  version: z.number().int().positive(),
  operations: z.array(z.string()).min(1),
  createdAt: z.string(),
  updatedAt: z.string(),
  head: jsonObjectSchema,
  messages: z.array(z.unknown()),
});
const FORM = { name: 'session', schema: documentSchema, format: FORMAT };

interface Document extends Omit<StoredSession, 'token'> {
  readonly key: SessionKey;
  readonly operations: readonly string[];
  readonly createdAt: string;
}

/** The sessions of a directory, or one of its collections. */
class JsonRecords implements SessionStore {
  readonly reach = 'host';
  readonly leases: SessionLeases;
  readonly #workspace: LocalWorkspace;
  readonly #lockTimeoutMs: number;
  readonly #processes: FileProcesses;
  /** Directories in which this store has cleaned up. */
  readonly #swept = new Set<string>();

  constructor(workspace: LocalWorkspace, lockTimeoutMs: number, processes = new FileProcesses(workspace)) {
    this.#workspace = workspace;
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#processes = processes;
    this.leases = fileLeases({
      workspace,
      processes,
      pathOf: (key) => leaseOf(pathOf(key)),
      locked: (key, task) => this.#locked(key, pathOf(key), task),
      unlocked: asSessionStoreError,
      tidy: (key) => this.#prune(dirname(pathOf(key))),
    });
  }

  load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    return asSessionStoreError(key, async () => {
      const last = lastWanted(options);
      const { document } = (await this.#read(pathOf(key), key)) ?? {};
      if (document === undefined) return undefined;
      const { version, head, updatedAt } = document;
      return {
        token: tokenOf(document),
        version,
        head,
        messages: lastOf(document.messages, last),
        updatedAt,
      };
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const path = pathOf(key);
    // A directory that cannot be read is the commit's own to report.
    await this.#sweep(key, dirname(path)).catch(() => {});
    const progress: CommitProgress = { outcome: 'none' };
    const write = async () => {
      checkChange(change);
      const read = await this.#read(path, key);
      if (read?.from !== undefined) await this.#advance(read.from, path);
      const stored = read?.document;
      const messages: readonly Message[] = stored?.messages ?? [];
      const fence = await newestFence(this.#workspace, leaseOf(path), change);
      const applied = checkCommit(key, change, stored && { ...stored, messages: messages.length }, fence);
      if (applied !== undefined) return applied;
      const updatedAt = new Date().toISOString();
      const document = {
        // Fields of a later release stay.
        ...stored,
        format: FORMAT,
        key: key.parts,
        version: (stored?.version ?? 0) + 1,
        operations: remember(stored?.operations ?? [], change.operation),
        createdAt: stored?.createdAt ?? updatedAt,
        updatedAt,
        head: change.head,
        messages: [...messages.slice(0, change.keep), ...change.append],
      };
      progress.outcome = 'unknown';
      await this.#replace(key, path, read, JSON.stringify(document), change);
      return document.version;
    };
    return this.#locked(key, path, write, progress);
  }

  async delete(key: SessionKey, options: DeleteOptions = {}): Promise<boolean> {
    const path = pathOf(key);
    const { token } = options;
    const remove = async () => {
      if (options.unlessLeased && isKept(await readLease(this.#workspace, leaseOf(path)), options))
        return false;
      // Without a token, one that cannot be read is deleted, too.
      if (token !== undefined && isAnother((await this.#read(path, key))?.document, token)) return false;
      const leftovers = [leaseOf(path)];
      // Looked for first: those of a session that is begun anew meanwhile are not among them.
      for await (const file of this.#workspace.list(dirname(path))) {
        if (file.path.startsWith(nextOf(path, ''))) leftovers.push(file.path);
      }
      for (const leftover of leftovers) await this.#workspace.delete(leftover);
      const existed = await this.#workspace.delete(path);
      for (const file of [path, ...leftovers]) await removeTemporaries(join(this.#workspace.root, file));
      await this.#prune(dirname(path));
      return existed;
    };
    const timeoutMs = this.#lockTimeoutMs;
    return deleteLocked(key, remove, () => this.#workspace.lock(path, remove, { timeoutMs }));
  }

  /** Newest first. Sessions that cannot be read are reported by an error after all others have been listed. */
  async *list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const paths = listBelowPrefixes(this.#workspace, 'sessions', '.json', scope);
    yield* listSessions(paths, scope, options, async (path) => {
      const { document } = (await this.#read(path)) ?? {};
      if (document === undefined) return undefined;
      return describeSession(document.key, document);
    });
  }

  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    const workspace = openDirectory(join(this.#workspace.root, collectionFolder(name)));
    return asCollection(new JsonRecords(workspace, this.#lockTimeoutMs, this.#processes), name);
  }

  collections(): AsyncGenerator<string, void, undefined> {
    return collectionsIn(this.#workspace, (name) => this.collection(name));
  }

  /**
   * Removes what writers left that ended in the middle of a commit, once for each directory: successors of documents that have
   * gone on since, and leases of ended processes.
   */
  async #sweep(key: SessionKey, directory: string): Promise<void> {
    if (this.#swept.has(directory)) return;
    this.#swept.add(directory);
    for await (const { path } of this.#workspace.list(directory)) {
      // What cannot be read stays: this commit is of another session.
      await this.#sweepFile(key, path).catch(() => {});
    }
  }

  async #sweepFile(key: SessionKey, path: string): Promise<void> {
    if (path.endsWith('.lease')) return this.#sweepLease(key, path);
    const [, document, token] = /^(.*)~([^~/]*)$/.exec(path) ?? [];
    if (document === undefined) return;
    const text = await ifFound(readText(this.#workspace, `${document}.json`));
    if (text === undefined || tokenOf(parse(document, text)) !== token) await this.#workspace.delete(path);
  }

  async #sweepLease(key: SessionKey, path: string): Promise<void> {
    const seen = await readLease(this.#workspace, path);
    if (seen === undefined || !hasEnded(seen)) return;
    await this.#locked(key, path.replace(/lease$/, 'json'), async (lock) => {
      if ((await readLease(this.#workspace, path))?.fence !== seen.fence) return;
      await lock.check();
      await this.#workspace.delete(path);
    });
  }

  #locked<T>(
    key: SessionKey,
    path: string,
    task: (lock: HeldLock) => Promise<T>,
    progress?: CommitProgress,
  ): Promise<T> {
    const options = { timeoutMs: this.#lockTimeoutMs };
    return asSessionStoreError(key, () => this.#workspace.lock(path, task, options), progress);
  }

  /**
   * The newest document with its text. A successor that is not in its place yet is read where it is: only writers, which
   * hold the lock, move it.
   */
  async #read(path: string, owner?: SessionKey): Promise<Read | undefined> {
    for (;;) {
      const text = await ifFound(readText(this.#workspace, path));
      if (text === undefined) return undefined;
      const document = parse(join(this.#workspace.root, path), text, owner);
      const next = nextOf(path, tokenOf(document));
      const newer = await ifFound(readText(this.#workspace, next));
      if (newer === undefined) return { text, document };
      // One that a writer leaves behind when others were faster is no successor.
      if ((await ifFound(readText(this.#workspace, path))) === text) {
        const file = join(this.#workspace.root, next);
        return { text: newer, document: parse(file, newer, owner), from: next };
      }
    }
  }

  /**
   * Puts a new document in the place of the one that was read.
   *
   * @throws {SessionConflictError} when another writer has done so.
   */
  async #replace(
    key: SessionKey,
    path: string,
    read: Read | undefined,
    text: string,
    change: SessionChange,
  ): Promise<void> {
    const next = read === undefined ? path : nextOf(path, tokenOf(read.document));
    try {
      await this.#workspace.write(next, text, { ifAbsent: true });
    } catch (error) {
      if (!WorkspaceError.isInstance(error) || error.code !== 'already_exists') throw error;
      throw conflict(key, change.expected, (await this.#read(path))?.document.version ?? 0);
    }
    if (read === undefined) return;
    // The name was free again when others had put their successors in place, and it means nothing then.
    const current = await ifFound(readText(this.#workspace, path));
    if (current === read.text) await this.#advance(next, path);
    else {
      const newest = (await this.#read(path))?.document;
      if (newest?.operations.some((known) => change.operation.startsWith(known))) return;
      await this.#workspace.delete(next);
      throw conflict(key, change.expected, newest?.version ?? 0);
    }
  }

  /** Moves a successor into its place, unless another writer has done so. */
  async #advance(next: string, path: string): Promise<void> {
    const { root } = this.#workspace;
    await rename(join(root, next), join(root, path)).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== 'ENOENT') throw error;
    });
  }

  /** Removes directories that are empty now, from `path` upwards. */
  async #prune(path: string): Promise<void> {
    for (let directory = path; directory !== '.'; directory = dirname(directory)) {
      try {
        await rmdir(join(this.#workspace.root, directory));
      } catch {
        return;
      }
    }
  }
}

/**
 * One JSON document a session:
 * `<directory>/[tenants/<tenant>/][users/<user>/][agents/<agent>/]sessions/<session>.json`. Every commit writes the
 * whole document anew; for long conversations use `WorkspaceSession`, where a commit costs what it adds.
 *
 * A commit is decided by the exclusive creation of the document's successor, which then takes its place. The lock only keeps
 * writers from trying in vain: one that stood still for so long that others took its lock overwrites nothing. Exclusive
 * creation is a hard link, so the file system must have those: FAT, exFAT and some network shares have none.
 *
 * @example
 * ```ts
 * const store = new JsonSession({ directory: './sessions' });
 * ```
 */
export class JsonSession extends JsonRecords {
  /** @throws {InvalidInputError} for unknown or bad options. */
  constructor(options: Readonly<z.input<typeof optionsSchema>>) {
    const { directory, lockTimeoutMs } = parseWith(optionsSchema, options, 'JsonSession options');
    super(openDirectory(directory), lockTimeoutMs);
  }
}

function openDirectory(directory: string): LocalWorkspace {
  return new LocalWorkspace(directory, { private: true });
}

interface Read {
  readonly text: string;
  readonly document: Document;
  /** The successor's path, where it has not taken its place yet. */
  readonly from?: string;
}

function pathOf(key: SessionKey): string {
  return `${sessionPrefix(checkKey(key))}sessions/${key.path.sessionId}.json`;
}

/** The successor of the document of this token, beside it. No document's name begins so: a segment has no tilde. */
function nextOf(path: string, token: string): string {
  return `${path.slice(0, -'.json'.length)}~${token}`;
}

/** Beside the document. No document's name ends like this. */
function leaseOf(path: string): string {
  return `${path.slice(0, -'.json'.length)}.lease`;
}

function parse(file: string, text: string, owner?: SessionKey): Document {
  const { messages, ...rest } = parseStored(file, text, FORM, owner);
  return { ...rest, messages: readMessages(messages, file) };
}
