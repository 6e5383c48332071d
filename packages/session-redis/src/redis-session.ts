import {
  checkChange,
  conflict,
  keepRefused,
  leaseLost,
  parseWith,
  type SessionChange,
  type SessionInfo,
  SessionKey,
  type SessionLease,
  type SessionScope,
  type SessionStore,
  type StoredSession,
} from '@x/core';
import * as z from 'zod';
import { decodeSession, FIELDS } from './decode-session.js';
import { warnOfEviction } from './eviction-warning.js';
import { clientSchema, keyPrefixSchema } from './options.js';
import type { RedisClient } from './redis-client.js';
import { type Place, placeOf, type Shard, ShardKeys } from './redis-keys.js';
import { grantLease } from './redis-lease.js';
import { commitScript } from './scripts/commit.js';
import { runScript } from './scripts/run-script.js';
import type { Script } from './scripts/script.js';
import { deleteScript, describeScript, loadScript, membersScript } from './scripts/sessions.js';
import { ShardDirectory } from './shard-directory.js';
import { asStoreError, corrupt, newer } from './store-error.js';

const optionsSchema = z.strictObject({
  client: clientSchema,
  keyPrefix: keyPrefixSchema,
  ttlSeconds: z.int().min(0).default(0),
});

const leaseSchema = z.strictObject({ ttlMs: z.int().positive() });

/** Options of a `RedisSession`. */
export interface RedisSessionOptions {
  /** A `Redis` or a `Cluster` of ioredis, or `fromNodeRedis(client)`. It stays the caller's: it is never closed here. */
  readonly client: RedisClient;
  /** Before every key. Default `x:`. */
  readonly keyPrefix?: string | undefined;
  /** Seconds after its last commit at which a session is gone. Default 0: never. */
  readonly ttlSeconds?: number | undefined;
}

/** Sessions described in one round trip of a listing. */
const PAGE = 200;

interface Location extends Place {
  readonly keys: ShardKeys;
}

/**
 * Sessions in Redis: standalone, Sentinel or Cluster. A commit is one round trip and sends only what it adds.
 *
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export class RedisSession implements SessionStore {
  readonly reach = 'cluster';
  readonly #client: RedisClient;
  readonly #keyPrefix: string;
  readonly #lifetime: number;
  readonly #directory: ShardDirectory;

  constructor(options: RedisSessionOptions) {
    const { client, keyPrefix, ttlSeconds } = parseWith(optionsSchema, options, 'RedisSession options');
    this.#client = client;
    this.#keyPrefix = keyPrefix;
    this.#lifetime = ttlSeconds * 1000;
    this.#directory = new ShardDirectory(client, keyPrefix);
  }

  async load(key: SessionKey): Promise<StoredSession | undefined> {
    const { keys, member } = this.#locate(key);
    return asStoreError(key, async () => {
      const [fields, messages] = await this.#read(keys.session(member), keys.messages(member));
      if (fields[0] == null && messages.length === 0) return undefined;
      return decodeSession(key, fields, messages);
    });
  }

  async commit(key: SessionKey, change: SessionChange): Promise<number> {
    checkChange(change);
    warnOfEviction(this.#client);
    const { shard, keys, member } = this.#locate(key);
    const { operation, expected = '', append, fence } = change;
    const values = [
      expected,
      operation,
      String(change.keep),
      String(this.#lifetime),
      fence === undefined ? '' : String(fence),
      member,
      JSON.stringify(change.head),
    ];
    for (const message of append) values.push(JSON.stringify(message));
    const names = [keys.session(member), keys.messages(member), keys.index, keys.listed];
    if (fence !== undefined) names.push(keys.fence(member));
    const reply = await asStoreError(key, () => this.#run(commitScript, names, values));
    // Clients can be told to answer numbers as text, or text as bytes.
    const [outcome, number] = (reply as unknown[]).map(String);
    const version = Number(number);
    // The change is applied, so a failure here must not be the commit's: the next commit tries again.
    if (outcome === 'list') await this.#directory.add(shard, keys, operation).catch(() => {});
    else if (outcome !== 'done') throw refusal(key, change, outcome, version);
    return version;
  }

  async delete(key: SessionKey): Promise<boolean> {
    const { shard, keys, member } = this.#locate(key);
    return asStoreError(key, async () => {
      const all = [keys.session(member), keys.messages(member), keys.index];
      const [removed, left] = (await this.#run(
        deleteScript,
        [...all, keys.lease(member), keys.fence(member)],
        [member],
      )) as unknown[];
      if (Number(left) === 0) await this.#directory.remove(shard, keys);
      return Number(removed) !== 0;
    });
  }

  /** The sessions within a scope: users in no particular order, one user's sessions newest first. */
  async *list(scope: SessionScope = {}): AsyncIterable<SessionInfo> {
    const shards = this.#directory.within(scope)[Symbol.asyncIterator]();
    for (;;) {
      const shard = await asStoreError(undefined, () => shards.next());
      if (shard.done) return;
      yield* await asStoreError(undefined, () => this.#listShard(shard.value, scope));
    }
  }

  /**
   * The right to run the session's turns, or `undefined` while somebody else has it. Its fence grows with every lease
   * of the session, over deletions too. It is kept beside the session and ends with it: with `delete`, and at the end
   * of `ttlSeconds`.
   *
   * @param options `ttlMs`: milliseconds, a positive whole number.
   * @throws {InvalidInputError} for any other `ttlMs`.
   * @throws {SessionStoreError} when Redis cannot be reached.
   */
  async lease(key: SessionKey, options: { readonly ttlMs: number }): Promise<SessionLease | undefined> {
    const { ttlMs } = parseWith(leaseSchema, options, 'lease options');
    const { keys, member } = this.#locate(key);
    return grantLease(this.#client, {
      key,
      keys: { lease: keys.lease(member), fence: keys.fence(member), session: keys.session(member) },
      ttlMs,
      lifetime: this.#lifetime,
    });
  }

  /** Does nothing: the client is the caller's. */
  async close(): Promise<void> {}

  /** Reads fields and messages as of one moment. */
  async #read(session: string, messages: string): Promise<[fields: unknown[], messages: unknown[]]> {
    // While a slot moves, any command may be sent on its own way and be done after those that follow it.
    if (this.#client.isCluster !== false) {
      const reply = await this.#run(loadScript, [session, messages], FIELDS);
      return reply as [unknown[], unknown[]];
    }
    // No script: Redis would copy every message into Lua and out again, which takes longer than everything else that a
    // load does. And no transaction: a Redis that is full refuses those. What is sent together is done in this order.
    for (;;) {
      const [fields, found, [token]] = await Promise.all([
        this.#client.hmget(session, ...FIELDS),
        this.#client.lrange(messages, 0, -1),
        this.#client.hmget(session, 'operation'),
      ]);
      if (String(fields[2]) === String(token)) return [fields, found];
    }
  }

  async #listShard(shard: Shard, scope: SessionScope): Promise<SessionInfo[]> {
    const keys = new ShardKeys(this.#keyPrefix, shard);
    const members = ((await this.#run(membersScript, [keys.index], [])) as unknown[]).map(String);
    if (members.length === 0) await this.#directory.remove(shard, keys);
    const candidates = members
      .map((member) => ({ member, key: keyOf(shard, member) }))
      .filter(({ key }) => key.isWithin(scope));

    const found: SessionInfo[] = [];
    for (let start = 0; start < candidates.length; start += PAGE) {
      const page = candidates.slice(start, start + PAGE);
      const described = (await this.#run(
        describeScript,
        [keys.index, ...page.map(({ member }) => keys.session(member))],
        page.map(({ member }) => member),
      )) as unknown[][];
      for (const [index, { key }] of page.entries()) {
        const [version, updatedAt] = (described[index] ?? []).map(String);
        if (!version) continue;
        found.push({ key, version: Number(version), updatedAt: new Date(Number(updatedAt)).toISOString() });
      }
    }
    return found.sort((left, right) => (left.updatedAt < right.updatedAt ? 1 : -1));
  }

  #locate(key: SessionKey): Location {
    const { shard, member } = placeOf(key);
    return { shard, keys: new ShardKeys(this.#keyPrefix, shard), member };
  }

  #run(script: Script, keys: readonly string[], values: readonly string[]): Promise<unknown> {
    return runScript(this.#client, script, keys, values);
  }
}

function keyOf({ tenant, owner }: Shard, member: string): SessionKey {
  const user = owner.startsWith('~') ? '' : owner;
  return SessionKey.parse(`${tenant}/${user}/${member}`);
}

/** Why a commit wrote nothing. */
function refusal(key: SessionKey, change: SessionChange, outcome: string | undefined, number: number): Error {
  switch (outcome) {
    case 'conflict':
      return conflict(key, change.expected, number);
    case 'keep':
      return keepRefused(change.keep, number);
    case 'lost':
      return leaseLost(key);
    case 'newer':
      return newer(key, number);
    default:
      return corrupt(key, 'its messages are not those that its version has');
  }
}
