import { type Clock, systemClock } from '../lib/clock.js';
import { type JsonObject, jsonText } from '../lib/json.js';
import { vouchFor } from '../messages/check-messages.js';
import type { Message } from '../messages/message.js';
import { asCollection, collectionName, filledCollections } from './collections.js';
import { describeSession, listAll } from './listing.js';
import { checkKey, checkScope, SessionKey, type SessionScope } from './session-key.js';
import type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  SessionInfo,
  SessionLease,
  SessionStore,
  StoredSession,
} from './session-store.js';
import {
  checkChange,
  checkCommit,
  heldLease,
  isAnother,
  lastOf,
  lastWanted,
  leaseTime,
  remember,
  tokenOf,
} from './store-rules.js';

interface Entry {
  readonly version: number;
  readonly operations: readonly string[];
  readonly head: JsonObject;
  /** Written to in place, so that a commit costs what it adds. Nobody else holds it. */
  readonly messages: Message[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface LeaseEntry {
  readonly fence: number;
  /** Milliseconds since 1970. */
  readonly expiresAt: number;
}

/**
 * Stores sessions in this process's memory: for tests, and for conversations that may end with the process.
 *
 * @example
 * ```ts
 * const store = new InMemorySession();
 * const session = await openSession(store, SessionKey.of('s-001'));
 * ```
 */
export class InMemorySession implements SessionStore {
  readonly reach = 'process';
  readonly #clock: Clock;
  readonly #sessions = new Map<string, Entry>();
  readonly #leases = new Map<string, LeaseEntry>();
  readonly #collections = new Map<string, InMemorySession>();
  /** Of all sessions, so that it grows also when a session is deleted and begun anew. */
  #lastFence = 0;

  /** @param options `clock`: what leases expire by; default the system's. */
  constructor(options: { readonly clock?: Clock | undefined } = {}) {
    this.#clock = options.clock ?? systemClock;
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastWanted(options);
    const stored = this.#sessions.get(checkKey(key).toString());
    if (stored === undefined) return undefined;
    const { version, head, updatedAt } = stored;
    const messages = lastOf(stored.messages, last);
    // A copy: what a caller does with its session must not reach into the store before a commit.
    const copy = copyOf({ head, messages });
    vouchFor(copy.messages);
    return { token: tokenOf(stored), version, updatedAt, ...copy };
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const id = checkKey(key).toString();
    const stored = this.#sessions.get(id);
    const messages = stored?.messages ?? [];
    const { fence } = this.#leases.get(id) ?? {};
    const applied = checkCommit(key, change, stored && { ...stored, messages: messages.length }, fence);
    if (applied !== undefined) return applied;

    // Copies, as any other store makes them: nobody else may change what is stored.
    const { head, append } = copyOf({ head: change.head, append: change.append });
    messages.length = change.keep;
    for (const message of append) messages.push(message);
    const version = (stored?.version ?? 0) + 1;
    const operations = remember(stored?.operations ?? [], change.operation);
    const updatedAt = new Date().toISOString();
    const createdAt = stored?.createdAt ?? updatedAt;
    this.#sessions.set(id, { version, operations, head, messages, createdAt, updatedAt });
    return version;
  }

  async delete(key: SessionKey, { token }: DeleteOptions = {}): Promise<boolean> {
    const id = checkKey(key).toString();
    if (isAnother(this.#sessions.get(id), token)) return false;
    this.#leases.delete(id);
    return this.#sessions.delete(id);
  }

  async *list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    checkScope(scope);
    const sessions = [...this.#sessions].map(([id, entry]) => ({ key: SessionKey.parse(id), entry }));
    const within = sessions.filter(({ key }) => key.isWithin(scope));
    yield* listAll(
      within.map(({ key, entry }) => describeSession(key, entry)),
      options,
    );
  }

  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    const known = this.#collections.get(collectionName(name));
    const records = known ?? new InMemorySession({ clock: this.#clock });
    this.#collections.set(name, records);
    return asCollection(records, name);
  }

  collections(): AsyncGenerator<string, void, undefined> {
    return filledCollections(this.#collections.keys(), (name) => this.collection(name));
  }

  async isLeased(key: SessionKey): Promise<boolean> {
    return this.#isLeased(checkKey(key).toString());
  }

  #isLeased(id: string): boolean {
    return (this.#leases.get(id)?.expiresAt ?? 0) > this.#clock.now();
  }

  async lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    const ttlMs = leaseTime(options);
    const id = checkKey(key).toString();
    if (this.#isLeased(id)) return undefined;
    const fence = ++this.#lastFence;
    const begin = () => this.#leases.set(id, { fence, expiresAt: this.#clock.now() + ttlMs });
    const isOurs = () => this.#leases.get(id)?.fence === fence;
    begin();
    return heldLease(key, fence, ttlMs, {
      renew: async () => {
        if (!isOurs()) return false;
        begin();
        return true;
      },
      release: async () => isOurs() && this.#leases.delete(id),
    });
  }
}

/** However deep it is nested, which a structured clone is not for. */
function copyOf<Plain extends object>(plain: Plain): Plain {
  return JSON.parse(jsonText(plain as JsonObject)) as Plain;
}
