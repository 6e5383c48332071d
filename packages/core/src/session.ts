import { AgentState } from './agent-state.js';
import { InvalidInputError } from './errors/invalid-input-error.js';
import { SessionStoreError } from './errors/session-store-error.js';
import type { Message } from './message.js';
import type { SessionKey } from './session-key.js';
import type { SessionStore } from './session-store.js';

/** A session that was loaded or created, and knows what of it is stored already. */
export interface Session {
  readonly key: SessionKey;
  readonly state: AgentState;
  /** The version last loaded or committed; 0 when the session is not stored yet. */
  readonly version: number;
  /**
   * Stores what changed since the last commit and answers the version. Writes nothing when nothing changed.
   *
   * @throws {SessionConflictError} when somebody else committed in between; nothing was written.
   */
  commit(): Promise<number>;
}

/**
 * Loads the session, or begins a new one that exists once it is committed.
 *
 * @throws {SessionStoreError} when the store cannot be read, or what it holds is no valid state: an existing session
 * is never mistaken for a new one.
 */
export async function openSession(store: SessionStore, key: SessionKey): Promise<Session> {
  const stored = await store.load(key);
  if (stored === undefined) {
    const { sessionId, userId, tenantId } = key.parts;
    return new StoredBackedSession(store, key, AgentState.create({ sessionId, userId, tenantId }), 0, [], '');
  }
  let state: AgentState;
  try {
    state = AgentState.fromParts(stored.head, stored.messages);
  } catch (error) {
    if (!InvalidInputError.isInstance(error)) throw error;
    throw new SessionStoreError(
      'session_corrupt',
      `Session ${key} cannot be read: ${error.message} The stored data was left as it is; repair or delete it.`,
      { sessionKey: key.toString(), cause: error },
    );
  }
  return new StoredBackedSession(
    store,
    key,
    state,
    stored.version,
    [...stored.messages],
    JSON.stringify(stored.head),
  );
}

class StoredBackedSession implements Session {
  readonly key: SessionKey;
  readonly state: AgentState;
  readonly #store: SessionStore;
  /** What the store holds, message by message, by identity. */
  readonly #stored: Message[];
  #storedHead: string;
  #version: number;
  /** Settles when the last commit that was asked for is done. */
  #committing: Promise<unknown> = Promise.resolve();

  constructor(
    store: SessionStore,
    key: SessionKey,
    state: AgentState,
    version: number,
    stored: Message[],
    storedHead: string,
  ) {
    this.#store = store;
    this.key = key;
    this.state = state;
    this.#version = version;
    this.#stored = stored;
    this.#storedHead = storedHead;
  }

  get version(): number {
    return this.#version;
  }

  commit(): Promise<number> {
    // One after the other, or a session would be in conflict with itself.
    const commit = this.#committing.then(() => this.#commit());
    this.#committing = commit.catch(() => {});
    return commit;
  }

  async #commit(): Promise<number> {
    const { context } = this.state;
    const keep = commonPrefix(this.#stored, context);
    const append = context.slice(keep);
    const head = this.state.head();
    const headText = JSON.stringify(head);
    const unchanged = append.length === 0 && keep === this.#stored.length && headText === this.#storedHead;
    if (unchanged && this.#version > 0) return this.#version;

    this.#version = await this.#store.commit(this.key, {
      expectedVersion: this.#version,
      head,
      keep,
      append,
    });
    this.#stored.length = keep;
    for (const message of append) this.#stored.push(message);
    this.#storedHead = headText;
    return this.#version;
  }
}

// Messages are immutable, so the same object is the same message: a comparison of pointers, microseconds for thousands.
function commonPrefix(left: readonly Message[], right: readonly Message[]): number {
  const end = Math.min(left.length, right.length);
  let index = 0;
  while (index < end && left[index] === right[index]) index++;
  return index;
}
