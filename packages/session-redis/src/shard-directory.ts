import { encodeSegment, operationId, type SessionScope } from '@x/core';
import type { RedisClient } from './redis-client.js';
import type { Shard, ShardKeys } from './redis-keys.js';
import {
  addEntriesScript,
  confirmListedScript,
  entriesScript,
  relistScript,
  removeEntriesScript,
  unmarkScript,
} from './scripts/directory.js';
import { runScript } from './scripts/run-script.js';

const PAGE = 500;

/**
 * Which shards there are, so that listing needs no `SCAN`: one sorted set in which every shard stands twice, by tenant
 * and by owner, so that either is a range.
 *
 * It lies in another Cluster slot than the shards, so no script can change both at once. Instead a shard remembers that
 * it is listed, and a commit that looks and finds no such mark lists it:
 *
 * - A commit puts its operation's id in place of the missing mark, enters the shard, and makes the id a mark.
 * - A removal takes the mark or id away first, so that a commit under way cannot make it a mark any more. Then it removes
 *   the entry, and looks whether the shard has sessions again. If so it enters it again.
 *
 * So a mark is never left without an entry by commits, deletes and listings in any order. A crash in between leaves no
 * mark (a session's second commit looks again, and two of every eight) or a needless entry (the next listing removes
 * it); marks last a day at most.
 */
export class ShardDirectory {
  readonly #client: RedisClient;
  readonly #key: string;

  constructor(client: RedisClient, keyPrefix: string) {
    this.#client = client;
    this.#key = `${keyPrefix}shards`;
  }

  /** Enters a shard in which `operation` stands in place of the mark. */
  async add(shard: Shard, keys: ShardKeys, operation: string): Promise<void> {
    await runScript(this.#client, addEntriesScript, [this.#key], entriesOf(shard));
    await runScript(this.#client, confirmListedScript, [keys.listed], [operation]);
  }

  /** Removes a shard that was seen to hold nothing. */
  async remove(shard: Shard, keys: ShardKeys): Promise<void> {
    await runScript(this.#client, unmarkScript, [keys.listed], []);
    await runScript(this.#client, removeEntriesScript, [this.#key], entriesOf(shard));
    const operation = operationId();
    const hasSessions = await runScript(this.#client, relistScript, [keys.index, keys.listed], [operation]);
    if (Number(hasSessions) === 1) await this.add(shard, keys, operation);
  }

  /** The shards that may hold sessions of a scope. */
  async *within({ tenantId, userId }: SessionScope): AsyncIterable<Shard> {
    if (tenantId !== undefined && userId !== undefined) {
      yield { tenant: encodeSegment(tenantId), owner: encodeSegment(userId) };
      return;
    }
    let prefix = 't:';
    if (tenantId !== undefined) prefix = `t:${encodeSegment(tenantId)}/`;
    if (userId !== undefined) prefix = `o:${encodeSegment(userId)}/`;
    // Entries are ASCII below DEL, so this is the end of the prefix's range.
    const end = `(${prefix}\x7f`;
    let start = `[${prefix}`;
    for (;;) {
      const page = [start, end, String(PAGE)];
      const entries = (await runScript(this.#client, entriesScript, [this.#key], page)) as unknown[];
      for (const entry of entries) yield shardOfEntry(String(entry));
      const last = entries.at(-1);
      if (last === undefined || entries.length < PAGE) return;
      start = `(${String(last)}`;
    }
  }
}

function entriesOf({ tenant, owner }: Shard): [byTenant: string, byOwner: string] {
  return [`t:${tenant}/${owner}`, `o:${owner}/${tenant}`];
}

function shardOfEntry(entry: string): Shard {
  const [first = '', second = ''] = entry.slice(2).split('/');
  return entry.startsWith('t:') ? { tenant: first, owner: second } : { tenant: second, owner: first };
}
