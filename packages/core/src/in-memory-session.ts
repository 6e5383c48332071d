import { InvalidInputError } from './errors/invalid-input-error.js';
import { SessionConflictError } from './errors/session-conflict-error.js';
import { SessionKey, type SessionScope } from './session-key.js';
import type { SessionChange, SessionInfo, SessionStore, StoredSession } from './session-store.js';

/** Sessions in this process's memory: for tests, and for conversations that may end with the process. */
export class InMemorySession implements SessionStore {
  readonly reach = 'process';
  readonly #sessions = new Map<string, StoredSession>();

  async load(key: SessionKey): Promise<StoredSession | undefined> {
    // A copy: what a caller does with its session must not reach into the store before a commit.
    const stored = this.#sessions.get(key.toString());
    return stored && structuredClone(stored);
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    const id = key.toString();
    const stored = this.#sessions.get(id);
    const version = stored?.version ?? 0;
    if (change.expectedVersion !== 'any' && change.expectedVersion !== version) {
      throw new SessionConflictError({
        sessionKey: id,
        expectedVersion: change.expectedVersion,
        actualVersion: version,
      });
    }
    const messages = stored?.messages ?? [];
    if (change.keep > messages.length) {
      throw new InvalidInputError('SessionChange', [
        { path: 'keep', message: `is ${change.keep}, but only ${messages.length} messages are stored` },
      ]);
    }
    this.#sessions.set(id, {
      version: version + 1,
      head: structuredClone(change.head),
      messages: [...messages.slice(0, change.keep), ...structuredClone(change.append)],
      updatedAt: new Date().toISOString(),
    });
    return version + 1;
  }

  async delete(key: SessionKey): Promise<boolean> {
    return this.#sessions.delete(key.toString());
  }

  async *list(scope?: SessionScope): AsyncIterable<SessionInfo> {
    for (const [id, { version, updatedAt }] of this.#sessions) {
      const key = SessionKey.parse(id);
      if (key.isWithin(scope)) yield { key, version, updatedAt };
    }
  }

  async close(): Promise<void> {}
}
