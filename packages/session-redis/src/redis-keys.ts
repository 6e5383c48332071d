import { createHash } from 'node:crypto';
import type { SessionKey, SessionScope } from '@x/core';
import { encodeSegment } from '@x/core/internal';
import { checkKey } from '@x/core/store';

const BUCKETS = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

/**
 * The Redis keys of a session. Sessions are in 256 buckets: all sessions of a user in one bucket, sessions without a user spread by id.
 * The braces are a Redis Cluster hash tag: all keys of a bucket share a slot, so one script can change them.
 */
export interface SessionKeys {
  /** The session's name in indexes: its encoded key. */
  readonly member: string;
  /** Hash: `state` (all values that every commit changes), head, description, time of the first commit, format. */
  readonly session: string;
  /** List: one message per element, as JSON. */
  readonly messages: string;
  /** String: the claim that holds the session's lease. It is deleted with the lease. */
  readonly lease: string;
  /** String: the fence of the newest lease. */
  readonly fence: string;
  /** String: the longest lifetime of a session in the bucket, in milliseconds, or `no`. */
  readonly lifetime: string;
  /** String: the session's log, preceded by the time of its last change. */
  readonly log: string;
  /** Sorted set: the latest changes of logs in the bucket, by time. */
  readonly operations: string;
  /** Sorted sets by the time of the last commit: of the bucket, of the tenant in the bucket, and of the user. */
  readonly indexes: readonly string[];
}

export function keysOf(keyPrefix: string, key: SessionKey): SessionKeys {
  return keysOfMember(keyPrefix, checkKey(key).toString());
}

/** Returns the keys for an encoded session key; see {@link keysOf}. */
export function keysOfMember(keyPrefix: string, member: string): SessionKeys {
  // The parts are already encoded. Encoding them again would be a large part of a commit's cost here.
  const [tenant, user, , session = ''] = member.split('/');
  const base = `${keyPrefix}{${bucketOf(user || session)}}`;
  const recent = `${base}:recent`;
  return {
    member,
    session: `${base}:session:${member}`,
    messages: `${base}:messages:${member}`,
    lease: `${base}:lease:${member}`,
    fence: `${base}:fence:${member}`,
    lifetime: `${base}:lifetime`,
    log: `${base}:log:${member}`,
    operations: `${base}:operations`,
    indexes: [
      recent,
      ...(tenant ? [`${recent}:tenant:${tenant}`] : []),
      ...(user ? [`${recent}:user:${user}`] : []),
    ],
  };
}

/** Returns the indexes that contain the sessions of a scope, among others. */
export function indexesOf(keyPrefix: string, { tenantId, userId }: SessionScope): readonly string[] {
  if (userId !== undefined) {
    const user = encodeSegment(userId);
    return [`${keyPrefix}{${bucketOf(user)}}:recent:user:${user}`];
  }
  const tenant = tenantId === undefined ? '' : `:tenant:${encodeSegment(tenantId)}`;
  return BUCKETS.map((bucket) => `${keyPrefix}{${bucket}}:recent${tenant}`);
}

function bucketOf(owner: string): string {
  return createHash('sha256').update(owner).digest('hex').slice(0, 2);
}
