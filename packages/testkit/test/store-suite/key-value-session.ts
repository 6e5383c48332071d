import {
  type SessionInfo,
  SessionKey,
  type SessionScope,
  type SessionStore,
  SessionStoreError,
} from '@x/core';
import {
  type Committed,
  checkChange,
  checkCommit,
  type DeleteOptions,
  describeSession,
  isAnother,
  type ListedSession,
  type ListOptions,
  type LoadOptions,
  lastOf,
  lastOption,
  listAll,
  remember,
  type SessionChange,
  type StoredSession,
  tokenOf,
} from '@x/core/store';

/** The backend: reads, and conditional writes. */
export interface KeyValue {
  get(key: string): Promise<{ readonly text: string; readonly revision: number } | undefined>;
  /** If `revision` is current (0: the key is absent), writes `text`; deletes the key if `text` is `undefined`. Returns whether it was current. */
  put(key: string, text: string | undefined, revision: number): Promise<boolean>;
  keys(): AsyncIterable<string>;
}

/** The stored session, with its latest operations instead of the token. */
type Value = Omit<StoredSession, 'token'> & Pick<Committed, 'operations'> & { readonly createdAt: string };

/** Stores each session as one value of a key-value store. */
export class KeyValueSession implements SessionStore {
  readonly reach = 'cluster';
  readonly #backend: KeyValue;

  constructor(backend: KeyValue) {
    this.#backend = backend;
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options);
    const { stored } = await this.#read(key);
    if (stored === undefined) return undefined;
    const { operations: _, createdAt: __, messages, ...session } = stored;
    return { ...session, messages: lastOf(messages, last), token: tokenOf(stored) };
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    for (;;) {
      const { stored, revision } = await this.#read(key);
      const current = stored?.messages ?? [];
      // The same commit was sent again after a lost reply.
      const applied = checkCommit(key, change, stored && { ...stored, messages: current.length });
      if (applied !== undefined) return applied;
      const updatedAt = new Date().toISOString();
      const next: Value = {
        version: (stored?.version ?? 0) + 1,
        operations: remember(stored?.operations ?? [], change.operation),
        head: change.head,
        messages: [...current.slice(0, change.keep), ...change.append],
        createdAt: stored?.createdAt ?? updatedAt,
        updatedAt,
      };
      // If another writer was faster, read again: it may be a conflict.
      if (await this.#backend.put(key.toString(), JSON.stringify(next), revision)) return next.version;
    }
  }

  async delete(key: SessionKey, { token }: DeleteOptions = {}): Promise<boolean> {
    for (;;) {
      const { stored, revision } = await this.#read(key);
      if (stored === undefined || isAnother(stored, token)) return false;
      if (await this.#backend.put(key.toString(), undefined, revision)) return true;
    }
  }

  async *list(scope?: SessionScope, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    const found: Omit<ListedSession, 'id'>[] = [];
    const unreadable: SessionStoreError[] = [];
    for await (const name of this.#backend.keys()) {
      const key = SessionKey.parse(name);
      if (!key.isWithin(scope)) continue;
      try {
        const { stored } = await this.#read(key);
        if (stored !== undefined) found.push(describeSession(key, stored));
      } catch (error) {
        // Lists the other sessions first.
        if (!(error instanceof SessionStoreError)) throw error;
        unreadable.push(error);
      }
    }
    // Sorts, and returns one page. If your backend has an index of times, use `listPages`: it reads only the page.
    yield* listAll(found, options, unreadable);
  }

  async close(): Promise<void> {}

  async #read(key: SessionKey): Promise<{ readonly stored?: Value; readonly revision: number }> {
    // After a failure, never return `undefined`: the agent would start a new session.
    const failed = (code: 'session_corrupt' | 'session_unavailable') => (cause: unknown) => {
      const details = { sessionKey: key.toString(), cause };
      throw new SessionStoreError(code, `Session ${key} cannot be read: ${cause}`, details);
    };
    const found = await this.#backend.get(key.toString()).catch(failed('session_unavailable'));
    if (found === undefined) return { revision: 0 };
    try {
      return { stored: JSON.parse(found.text), revision: found.revision };
    } catch (error) {
      return failed('session_corrupt')(error);
    }
  }
}
