import { z } from 'zod';
import { parseWith } from '../../config/parse.js';
import { CapabilityError } from '../../errors/capability-error.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { type HeldLock, type Reach, readText, type Workspace } from '../../workspace/workspace.js';
import type { SessionKey, SessionScope } from '../session-key.js';
import type {
  SessionChange,
  SessionInfo,
  SessionLease,
  SessionStore,
  StoredSession,
} from '../session-store.js';
import { checkChange } from '../store-rules.js';
import { checkFileFence, grantLease } from './lease-file.js';
import {
  formatHead,
  parseHead,
  readSegments,
  type Segment,
  type SessionHead,
  writeSegments,
} from './segments.js';
import {
  asSessionStoreError,
  ifFound,
  listBelowPrefixes,
  listSessions,
  sessionPrefix,
} from './session-files.js';

const optionsSchema = z.strictObject({
  lockTimeoutMs: z.number().nonnegative().default(10_000),
  clock: z.custom<Clock>().default(systemClock),
});
const HEAD = 'head.json';
const LEASE = 'lease.json';

/**
 * Stores sessions as files of a workspace: the default of an agent. A session is the directory
 * `[tenants/<tenant>/][users/<user>/][agents/<agent>/]context/<session>/` with a `head.json`, which says what counts,
 * and segments of one message a line. A commit appends to the last segment and then replaces the head atomically: it
 * costs what it adds, and a crash in between leaves bytes that no head refers to.
 *
 * @example
 * ```ts
 * const store = new WorkspaceSession(new LocalWorkspace('./data'));
 * ```
 */
export class WorkspaceSession implements SessionStore {
  readonly reach: Reach;
  readonly #workspace: Workspace;
  readonly #lock: NonNullable<Workspace['lock']>;
  readonly #lockTimeoutMs: number;
  readonly #clock: Clock;

  /**
   * @param options `lockTimeoutMs`: how long a commit waits for another one to the same session; default 10 000.
   * `clock`: what leases expire by; default the system's. Where several machines share the workspace, their clocks must
   * agree to well within a lease's time.
   * @throws {CapabilityError} when the workspace has no locks: two writers could both win.
   */
  constructor(
    workspace: Workspace,
    options: { readonly lockTimeoutMs?: number | undefined; readonly clock?: Clock | undefined } = {},
  ) {
    const lock = (workspace as Workspace | undefined)?.lock;
    if (lock === undefined) {
      throw new CapabilityError(
        'workspace.lock',
        'WorkspaceSession needs a workspace with locks, or two writers could overwrite each other. Use a ' +
          'workspace that implements `lock`, such as LocalWorkspace, or another session store.',
      );
    }
    this.#workspace = workspace;
    this.#lock = lock.bind(workspace);
    const { lockTimeoutMs, clock } = parseWith(optionsSchema, options, 'WorkspaceSession options');
    this.#lockTimeoutMs = lockTimeoutMs;
    this.#clock = clock;
    this.reach = workspace.reach;
  }

  load(key: SessionKey): Promise<StoredSession | undefined> {
    const directory = directoryOf(key);
    return asSessionStoreError(key, async () => {
      let failed: { readonly error: unknown; readonly segments: string } | undefined;
      for (;;) {
        const stored = await this.#readHead(directory, key);
        if (stored === undefined) return undefined;
        // Only what fails twice is damaged: a commit may have replaced the segments meanwhile.
        const segments = JSON.stringify(stored.segments);
        if (failed?.segments === segments) throw failed.error;
        try {
          const messages = await readSegments(this.#workspace, directory, stored.segments);
          const { version, head, updatedAt } = stored;
          return { version, head, messages, updatedAt };
        } catch (error) {
          failed = { error, segments };
        }
      }
    });
  }

  commit(key: SessionKey, change: SessionChange): Promise<number> {
    const directory = directoryOf(key);
    return this.#locked(key, directory, async (lock) => {
      await checkFileFence({ key, workspace: this.#workspace, path: `${directory}/${LEASE}` }, change);
      const stored = await this.#readHead(directory, key);
      const old = stored?.segments ?? [];
      const messages = old.reduce((sum, segment) => sum + segment.messages, 0);
      checkChange(key, change, { version: stored?.version ?? 0, messages });

      const segments = await writeSegments(this.#workspace, directory, old, change);
      const version = (stored?.version ?? 0) + 1;
      const updatedAt = new Date().toISOString();
      await lock.check();
      const head = formatHead({ key, version, head: change.head, segments, updatedAt });
      await this.#workspace.write(`${directory}/${HEAD}`, head);

      // Committed: whatever cannot be removed now is removed by a later commit.
      if (!isSameFiles(old, segments)) await this.#sweep(directory, segments).catch(() => {});
      return version;
    });
  }

  delete(key: SessionKey): Promise<boolean> {
    const directory = directoryOf(key);
    return this.#locked(key, directory, async (lock) => {
      await lock.check();
      // The head goes first: without it, whatever a crash leaves is no session.
      const existed = await this.#workspace.delete(`${directory}/${HEAD}`);
      await this.#workspace.delete(directory);
      return existed;
    });
  }

  /** Newest first. Sessions that cannot be read are reported by an error after all others have been listed. */
  async *list(scope: SessionScope = {}): AsyncGenerator<SessionInfo, void, undefined> {
    const paths = listBelowPrefixes(this.#workspace, 'context', '', scope);
    yield* listSessions(paths, scope, (path) => this.#readHead(path));
  }

  async close(): Promise<void> {}

  lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    const directory = directoryOf(key);
    const path = `${directory}/${LEASE}`;
    const file = {
      key,
      workspace: this.#workspace,
      path,
      clock: this.#clock,
      locked: <T>(task: (lock: HeldLock) => Promise<T>) => this.#locked(key, directory, task),
      tidy: async () => {
        const isSession = (await this.#workspace.stat(`${directory}/${HEAD}`)) !== undefined;
        if (!isSession) await this.#workspace.delete(directory);
      },
    };
    return grantLease(file, options);
  }

  #locked<T>(key: SessionKey, directory: string, task: (lock: HeldLock) => Promise<T>): Promise<T> {
    return asSessionStoreError(key, () => this.#lock(directory, task, { timeoutMs: this.#lockTimeoutMs }));
  }

  /** The head in a directory; `undefined` when there is no session. */
  async #readHead(directory: string, key?: SessionKey): Promise<SessionHead | undefined> {
    const path = `${directory}/${HEAD}`;
    const text = await ifFound(readText(this.#workspace, path));
    return text === undefined ? undefined : parseHead(path, text, key);
  }

  /** Removes the segments that no longer count, and what crashes left. */
  async #sweep(directory: string, segments: readonly Segment[]): Promise<void> {
    const names = new Set([HEAD, LEASE, ...segments.map(({ file }) => file)]);
    for await (const { path } of this.#workspace.list(directory)) {
      if (!names.has(path.slice(directory.length + 1))) await this.#workspace.delete(path);
    }
  }
}

function directoryOf(key: SessionKey): string {
  return `${sessionPrefix(key)}context/${key.path.sessionId}`;
}

function isSameFiles(left: readonly Segment[], right: readonly Segment[]): boolean {
  return left.length === right.length && left.every(({ file }, index) => file === right[index]?.file);
}
