import { createHash } from 'node:crypto';
import type { SessionKey } from '@x/core';

/**
 * Sessions that live together: all of one user's, so that they share an index and a Cluster slot. Sessions without a
 * user are spread over 256 shards by their id, so that an application without users is no single slot.
 */
export interface Shard {
  /** Encoded; empty when absent. */
  readonly tenant: string;
  /** The encoded user, or `~` and two hex digits. An encoded user never contains `~`. */
  readonly owner: string;
}

/** Where a session lies: its shard, and its name in it, `agent/session`. */
export interface Place {
  readonly shard: Shard;
  readonly member: string;
}

export function placeOf(key: SessionKey): Place {
  // Its text is its parts, encoded: to encode them again would be a good part of what a commit costs here.
  const [tenant = '', user = '', agent = '', session = ''] = key.toString().split('/');
  const owner = user === '' ? `~${bucketOf(session)}` : user;
  return { shard: { tenant, owner }, member: `${agent}/${session}` };
}

function bucketOf(session: string): string {
  return createHash('sha256').update(session).digest('hex').slice(0, 2);
}

/** The keys of a shard. The braces are a Redis Cluster hash tag: what has the same one shares a slot. */
export class ShardKeys {
  /** Sorted set: members are sessions of the shard, scores the milliseconds of their expiry. */
  readonly index: string;
  /** Present while the directory is known to hold the shard. */
  readonly listed: string;
  readonly #prefix: string;

  constructor(keyPrefix: string, shard: Shard) {
    this.#prefix = `${keyPrefix}{${shard.tenant}/${shard.owner}}`;
    this.index = `${this.#prefix}:index`;
    this.listed = `${this.#prefix}:listed`;
  }

  /** Hash: version, count, updatedAt, operation, head, expires. */
  session(member: string): string {
    return `${this.#prefix}:session:${member}`;
  }

  /** List: one message an element, as JSON. */
  messages(member: string): string {
    return `${this.#prefix}:messages:${member}`;
  }

  /** String: who has the lease of the session now. It ends with the lease. */
  lease(member: string): string {
    return `${this.#prefix}:lease:${member}`;
  }

  /** String: the fence of the newest lease that was granted. */
  fence(member: string): string {
    return `${this.#prefix}:fence:${member}`;
  }
}
