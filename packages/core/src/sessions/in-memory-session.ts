import { timestamp } from '../lib/clock.js';
import { type JsonObject, jsonText } from '../lib/json.js';
import { vouchFor } from '../messages/check-messages.js';
import type { Message } from '../messages/message.js';
import { asCollection, collectionName, filledCollections } from './collections.js';
import { describeSession, listAll } from './listing.js';
import { checkKey, checkScope, SessionKey, type SessionScope } from './session-key.js';
import type { HeldLease, ProcessNote, SessionLeases, SessionProcesses } from './session-leases.js';
import type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  SessionInfo,
  SessionStore,
  StoredSession,
} from './session-store.js';
import {
  checkChange,
  checkCommit,
  isAnother,
  isKept,
  lastOf,
  lastOption,
  remember,
  tokenOf,
} from './store-rules.js';

interface Entry {
  readonly version: number;
  readonly operations: readonly string[];
  readonly head: JsonObject;
  /** JSON texts, so that callers share nothing. Changed in place, so that the cost of a commit depends on what it adds. */
  readonly messages: string[];
  readonly createdAt: string;
  readonly updatedAt: string;
}

interface Alive {
  beats: number;
  notes: readonly ProcessNote[];
}

/** State that a store shares with its collections. */
class Shared {
  /** One counter for all sessions, so that fences grow even if a session is deleted and started again. */
  lastFence = 0;
  readonly #alive = new Map<string, Alive>();
  readonly processes: SessionProcesses = {
    beat: async ({ id }, acknowledged) => {
      const alive = this.#alive.get(id) ?? { beats: 0, notes: [] };
      this.#alive.set(id, alive);
      alive.beats++;
      alive.notes = alive.notes.filter((note) => !acknowledged.some((other) => other.id === note.id));
      return alive.notes;
    },
    look: async (id) => this.#alive.get(id)?.beats,
    send: async (id, note) => {
      const alive = this.#alive.get(id);
      if (alive !== undefined) alive.notes = [...alive.notes, note];
      return alive !== undefined;
    },
    retire: async (id) => void this.#alive.delete(id),
  };
}

/** The sessions of a store, or one of its collections. */
class MemoryRecords implements SessionStore {
  readonly reach = 'process';
  readonly leases: SessionLeases;
  readonly #shared: Shared;
  readonly #sessions = new Map<string, Entry>();
  readonly #leases = new Map<string, HeldLease>();
  readonly #collections = new Map<string, MemoryRecords>();

  constructor(shared: Shared) {
    this.#shared = shared;
    const leaseOf = (key: SessionKey) => this.#leases.get(checkKey(key).toString());
    this.leases = {
      processes: shared.processes,
      take: async (key, claim, { over } = {}) => {
        const held = leaseOf(key);
        if (held !== undefined && held.token !== claim.token && held.fence !== over) return undefined;
        const fence = ++shared.lastFence;
        this.#leases.set(key.toString(), { ...claim, fence });
        return fence;
      },
      confirm: async (key, _, fence) => leaseOf(key)?.fence === fence,
      release: async (key, { token }) => {
        if (leaseOf(key)?.token === token) this.#leases.delete(key.toString());
      },
      find: async (key) => leaseOf(key),
    };
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options);
    const stored = this.#sessions.get(checkKey(key).toString());
    if (stored === undefined) return undefined;
    const { version, head, updatedAt } = stored;
    const messages = vouchFor(parsed(lastOf(stored.messages, last)));
    // Return a copy, so that changes by the caller do not reach the store before a commit.
    return { token: tokenOf(stored), version, updatedAt, head: JSON.parse(jsonText(head)), messages };
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    const id = checkKey(key).toString();
    const stored = this.#sessions.get(id);
    const messages = stored?.messages ?? [];
    const { fence } = this.#leases.get(id) ?? {};
    const applied = checkCommit(key, change, stored && { ...stored, messages: messages.length }, fence);
    if (applied !== undefined) return applied;

    // Store copies, so that later changes by the caller do not reach the store.
    const head = JSON.parse(jsonText(change.head)) as JsonObject;
    messages.length = change.keep;
    for (const message of change.append) messages.push(jsonText(message as unknown as JsonObject));
    const version = (stored?.version ?? 0) + 1;
    const operations = remember(stored?.operations ?? [], change.operation);
    const updatedAt = timestamp();
    const createdAt = stored?.createdAt ?? updatedAt;
    this.#sessions.set(id, { version, operations, head, messages, createdAt, updatedAt });
    return version;
  }

  async delete(key: SessionKey, options: DeleteOptions = {}): Promise<boolean> {
    const id = checkKey(key).toString();
    if (isKept(this.#leases.get(id), options) || isAnother(this.#sessions.get(id), options.token))
      return false;
    this.#leases.delete(id);
    return this.#sessions.delete(id);
  }

  async *list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    checkScope(scope);
    const sessions = [...this.#sessions].map(([id, entry]) => ({ key: SessionKey.parse(id), entry }));
    const within = sessions.filter(({ key }) => key.isWithin(scope));
    yield* listAll(
      within.map(({ key, entry }) => describeSession(key, { ...entry, messages: parsed(entry.messages) })),
      options,
    );
  }

  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    const known = this.#collections.get(collectionName(name));
    const records = known ?? new MemoryRecords(this.#shared);
    this.#collections.set(name, records);
    return asCollection(records, name);
  }

  collections(): AsyncGenerator<string, void, undefined> {
    return filledCollections(this.#collections.keys(), (name) => this.collection(name));
  }
}

/**
 * Stores sessions in this process's memory. Use it for tests, and for conversations that may end with the process.
 *
 * @example
 * ```ts
 * const store = new InMemorySession();
 * const session = await openSession(store, SessionKey.of('s-001'));
 * ```
 */
export class InMemorySession extends MemoryRecords {
  constructor() {
    super(new Shared());
  }
}

function parsed(messages: readonly string[]): readonly Message[] {
  return messages.map((text) => JSON.parse(text) as Message);
}
