import {
  type SessionInfo,
  SessionKey,
  type SessionScope,
  type SessionStore,
  type SessionStoreError,
} from '@x/core';
import {
  checkFormat,
  decodeSession,
  describeHead,
  isUnreadable,
  keepRefused,
  type ListedRow,
  listedSession,
  parseWith,
  sessionDamaged,
} from '@x/core/internal';
import {
  asCollection,
  checkChange,
  checkKey,
  checkScope,
  claimText,
  collectionName,
  conflict,
  type DeleteOptions,
  filledCollections,
  heldLease,
  type ListedSession,
  type ListOptions,
  type ListPosition,
  type LoadOptions,
  lastOption,
  leaseLost,
  listPages,
  type SessionChange,
  type SessionLeases,
  type SessionProcesses,
  type StoredSession,
  type UnreadableSession,
} from '@x/core/store';
import * as z from 'zod';
import { warnOfEviction } from './eviction-warning.js';
import { backendSchema } from './options.js';
import { recentSessions } from './recent-sessions.js';
import type { RedisClient } from './redis-client.js';
import { indexesOf, keysOf, type SessionKeys } from './redis-keys.js';
import { redisProcesses } from './redis-processes.js';
import { commitScript, FORMAT } from './scripts/commit.js';
import { confirmScript, findScript, releaseScript, takeScript } from './scripts/lease.js';
import { runScript, type Script, whileSlotMoves } from './scripts/run-script.js';
import { addNameScript, deleteScript, loadScript, namesScript, outdatedScript } from './scripts/sessions.js';
import { asStoreError } from './store-error.js';

const optionsSchema = backendSchema.extend({
  /** Sessions expire this many seconds after their last commit. Default 0: never. */
  ttlSeconds: z.int().min(0).default(0),
});

/** Options of a `RedisSession`. */
export type RedisSessionOptions = Readonly<z.input<typeof optionsSchema>>;

/** Fields of a session that a load reads, in addition to its messages. */
const FIELDS = ['state', 'head', 'format'];
/** Fields of a session that a listing reads. */
const LISTED = ['format', 'state', 'createdAt', 'description'];

/**
 * Stores sessions in Redis: standalone, Sentinel or Cluster. A commit is one round trip and sends only new messages.
 *
 * @example
 * ```ts
 * const store = new RedisSession({ client: new Redis('redis://localhost'), ttlSeconds: 30 * 86_400 });
 * ```
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export class RedisSession implements SessionStore {
  /** Processes on all machines can use this store. */
  readonly reach = 'cluster';
  /**
   * The leases of sessions. Each lease has a fencing token (`fence`) that is larger than all earlier ones of the session. The token is in
   * a separate key, which `delete` removes with the session, or which expires after `ttlSeconds`.
   */
  readonly leases: SessionLeases;
  readonly #client: RedisClient;
  readonly #keyPrefix: string;
  readonly #lifetime: number;
  /** Name of the Redis set with the names of collections. */
  readonly #names: string;
  /** Caches the Redis keys of each session key in use. */
  readonly #keys = new WeakMap<SessionKey, SessionKeys>();

  constructor(options: RedisSessionOptions, processes?: SessionProcesses) {
    const { client, keyPrefix, ttlSeconds } = parseWith(optionsSchema, options, 'RedisSession options');
    this.#client = client;
    this.#keyPrefix = keyPrefix;
    this.#lifetime = ttlSeconds * 1000;
    this.#names = `${keyPrefix}collections`;
    this.leases = this.#leasesOf(processes ?? redisProcesses(client, keyPrefix));
  }

  async load(key: SessionKey, options?: LoadOptions): Promise<StoredSession | undefined> {
    const last = lastOption(options);
    return asStoreError(key, async () => {
      const [fields, messages] = await this.#read(this.#keysOf(key), last);
      if (fields.every((field) => field == null) && messages.length === 0) {
        // If messages exist without a session, the data is corrupt. Check this even if `last` is 0.
        const isNothing = last !== 0 || (await this.load(key, { last: 1 })) === undefined;
        return isNothing ? undefined : this.load(key, options);
      }
      const [state, head, format] = fields;
      if (state != null || format != null) checkStored(key, format);
      const [version, count, , updatedAt, token = ''] = partsOf(key, state);
      return decodeSession(key, 'Redis', {
        token,
        version: Number(version),
        count: Math.min(Number(count), last ?? Number.POSITIVE_INFINITY),
        head: String(head ?? ''),
        messages: messages.map(String),
        updatedAt: new Date(Number(updatedAt)),
      });
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    warnOfEviction(this.#client);
    const keys = this.#keysOf(key);
    const { operation, expected, keep, head, append, fence } = change;
    const values = [
      ...[
        expected === undefined ? '' : `token ${expected}`,
        operation,
        String(keep),
        String(this.#lifetime),
        fence === undefined ? '' : String(fence),
      ],
      ...[keys.member, JSON.stringify(head), describeHead(head)],
    ];
    for (const message of append) values.push(JSON.stringify(message));
    const names = [keys.session, keys.messages, keys.fence, keys.lifetime, keys.log, ...keys.indexes];
    const reply = await asStoreError(key, () => this.#run(commitScript, names, values));
    // Clients can be configured to return numbers as text, or text as bytes.
    const [outcome, number] = (reply as unknown[]).map(String);
    if (outcome === 'format') checkStored(key, number);
    if (outcome !== 'done') throw errorOf(key, change, outcome, Number(number));
    return Number(number);
  }

  async delete(key: SessionKey, { token, unlessLeased, over }: DeleteOptions = {}): Promise<boolean> {
    const { member, indexes, ...keys } = this.#keysOf(key);
    const names = [keys.session, keys.messages, keys.lease, keys.fence, keys.lifetime, keys.log, ...indexes];
    const wanted = token === undefined ? '' : `token ${token}`;
    const values = [member, wanted, unlessLeased ? String(over ?? '') : 'any'];
    return asStoreError(key, async () => Number(await this.#run(deleteScript, names, values)) !== 0);
  }

  /**
   * Lists the sessions within a scope, newest first. A session that gets a commit before it was listed is returned at the end.
   */
  async *list(scope: SessionScope = {}, options?: ListOptions): AsyncGenerator<SessionInfo, void, undefined> {
    checkScope(scope);
    const indexes = indexesOf(this.#keyPrefix, scope);
    let entries: AsyncGenerator<ListPosition, void, undefined> | undefined;
    let last: ListPosition | undefined;
    yield* listPages(options, (behind, count) =>
      asStoreError(undefined, async () => {
        if (entries === undefined || behind?.id !== last?.id || behind?.time !== last?.time) {
          entries = recentSessions(this.#client, indexes, behind);
        }
        const page: (ListedSession | UnreadableSession)[] = [];
        last = undefined;
        while (page.length < count) {
          const found = await takeEntries(entries, count - page.length, scope);
          if (found.length === 0) break;
          const described = await Promise.all(found.map((entry) => this.#describe(entry)));
          for (const [index, session] of described.entries()) {
            if (session === undefined) continue;
            page.push(session);
            last = found[index];
          }
        }
        return page;
      }),
    );
  }

  /** Does nothing, because the caller owns the client. */
  async close(): Promise<void> {}

  collection(name: string): SessionStore {
    const keyPrefix = `${this.#keyPrefix}collection:${collectionName(name)}:`;
    const register = () => asStoreError(undefined, () => this.#run(addNameScript, [this.#names], [name]));
    const options = { client: this.#client, keyPrefix, ttlSeconds: this.#lifetime / 1000 };
    return asCollection(new RedisCollection(options, this.leases.processes, register), name);
  }

  async *collections(): AsyncGenerator<string, void, undefined> {
    const names = await asStoreError(undefined, () => this.#run(namesScript, [this.#names], []));
    yield* filledCollections((names as unknown[]).map(String), (name) => this.collection(name));
  }

  #leasesOf(processes: SessionProcesses): SessionLeases {
    const run = async (script: Script, key: SessionKey, ...values: readonly unknown[]) => {
      const { lease, fence, session, lifetime } = this.#keysOf(key);
      const keys = script === takeScript ? [lease, fence, session, lifetime] : [lease, fence];
      return asStoreError(key, () => this.#run(script, keys, values.map(String)));
    };
    return {
      processes,
      take: async (key, claim, { over = '' } = {}) => {
        const fence = await run(takeScript, key, claimText(claim), this.#lifetime, over);
        return fence == null ? undefined : Number(fence);
      },
      confirm: async (key, claim, fence) =>
        Number(await run(confirmScript, key, claimText(claim), fence)) === 1,
      release: async (key, claim) => {
        await run(releaseScript, key, claimText(claim), this.#lifetime);
      },
      find: async (key) => {
        const [claim, fence] = (await run(findScript, key)) as readonly unknown[];
        return claim == null ? undefined : heldLease(claim, Number(fence));
      },
    };
  }

  /** Reads fields and messages as one consistent snapshot. */
  async #read(
    { session, messages }: SessionKeys,
    last: number | undefined,
  ): Promise<[fields: unknown[], messages: unknown[]]> {
    // To read no messages, use an empty range.
    const [from, to] = last === 0 ? [1, 0] : [last === undefined ? 0 : -last, -1];
    // While a slot moves, commands of one pipeline may be redirected one by one and run out of order.
    if (this.#client.isCluster !== false) {
      const reply = await this.#run(loadScript, [session, messages], [String(from), String(to), ...FIELDS]);
      return reply as [unknown[], unknown[]];
    }
    // No script, because Redis would copy every message into Lua and back, which takes longer than the rest of a load. No transaction,
    // because a full Redis rejects transactions. Pipelined commands run in this order.
    for (;;) {
      const [fields, found, [state]] = await Promise.all([
        this.#client.hmget(session, ...FIELDS),
        this.#client.lrange(messages, from, to),
        this.#client.hmget(session, 'state'),
      ]);
      if (String(fields[0]) === String(state)) return [fields, found];
    }
  }

  /** Returns the listing's entry of a session; `undefined` if the session has expired, or moved to the front in the meantime. */
  async #describe(entry: ListPosition): Promise<ListedSession | UnreadableSession | undefined> {
    const { id, time } = entry;
    const key = parsedKey(id);
    const times = { updatedAt: time, createdAt: time };
    if (key === undefined)
      return listedSession({ ...times, id, key: id, version: 0, messages: 0, bytes: 0, description: '' });
    try {
      return await asStoreError(key, async () => {
        const { session, messages: list, indexes } = this.#keysOf(key);
        const fields = await whileSlotMoves(() => this.#client.hmget(session, ...LISTED));
        const [format, state, createdAt, description] = fields;
        if (state != null || format != null) checkStored(key, format);
        const [version, messages, bytes, updatedAt] = state == null ? [] : partsOf(key, state);
        if (Number(updatedAt) !== time) {
          const reply = await this.#run(outdatedScript, [session, list, ...indexes], [id, String(time)]);
          if (String(reply) === 'outdated') return undefined;
          if (String(reply) === 'sound') return this.#describe(entry);
          throw sessionDamaged(key, 'Redis', 'it is incomplete, or its timestamp differs from the index');
        }
        const row = { id, key: id, version, messages, bytes, description, updatedAt: time };
        return listedSession({ ...row, createdAt: Number(createdAt) } as ListedRow);
      });
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      return { id, time, error: error as SessionStoreError };
    }
  }

  #keysOf(key: SessionKey): SessionKeys {
    const keys = this.#keys.get(checkKey(key)) ?? keysOf(this.#keyPrefix, key);
    this.#keys.set(key, keys);
    return keys;
  }

  #run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return runScript(this.#client, script, keys, values);
  }
}

/** The records of a collection. They are stored like sessions, with another key prefix. */
class RedisCollection extends RedisSession {
  readonly #register: () => Promise<unknown>;

  /** @param register Stores the name of the collection. */
  constructor(options: RedisSessionOptions, processes: SessionProcesses, register: () => Promise<unknown>) {
    super(options, processes);
    this.#register = register;
  }

  /** Registers the collection before the first commit of a record, so that the record can be found. */
  override async commit(key: SessionKey, change: SessionChange): Promise<number> {
    if (change.expected === undefined) await this.#register();
    return super.commit(key, change);
  }
}

/** Rejects a session with another format. Without the field `format`, the format is `null`, which counts as 0. */
function checkStored(key: SessionKey, format: unknown): void {
  const number = Number(format);
  if (!Number.isInteger(number))
    throw sessionDamaged(key, 'Redis', `its format is "${format}", not a number`);
  checkFormat(`Session ${key} in Redis`, number, FORMAT, '@x/session-redis', key);
}

/**
 * Parses the fields that every commit changes, as the commit script writes them.
 *
 * @throws {SessionStoreError} `session_corrupt` if the value is missing or invalid.
 */
function partsOf(key: SessionKey, state: unknown): readonly string[] {
  const [, ...parts] = /^(\d+) (\d+) (\d+) (\d+) (\S*) (\S*)$/.exec(String(state ?? '')) ?? [];
  if (parts.length > 0) return parts;
  throw sessionDamaged(key, 'Redis', 'its field "state" is missing or invalid');
}

/** Parses the session key of an index entry; `undefined` if it is invalid. */
function parsedKey(id: string): SessionKey | undefined {
  try {
    return SessionKey.parse(id);
  } catch {
    return undefined;
  }
}

/** Takes the next `count` entries of a scope. */
async function takeEntries(
  entries: AsyncGenerator<ListPosition, void, undefined>,
  count: number,
  scope: SessionScope,
): Promise<readonly ListPosition[]> {
  const taken: ListPosition[] = [];
  while (taken.length < count) {
    const { value, done } = await entries.next();
    if (done) break;
    // Keep an entry with an invalid key, so that the listing reports it.
    if (parsedKey(value.id)?.isWithin(scope) !== false) taken.push(value);
  }
  return taken;
}

/** Returns the error for a commit that wrote nothing. */
function errorOf(key: SessionKey, change: SessionChange, outcome: string | undefined, number: number): Error {
  switch (outcome) {
    case 'conflict':
      return conflict(key, change.expected, number);
    case 'keep':
      return keepRefused(change.keep, number);
    case 'lost':
      return leaseLost(key);
    default:
      return sessionDamaged(key, 'Redis', 'its number of messages does not match its field "state"');
  }
}
