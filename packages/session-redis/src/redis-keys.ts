import { createHash } from 'node:crypto';
import type { SessionKey, SessionScope } from '@x/core';
import { encodeSegment } from '@x/core/internal';
import { checkKey } from '@x/core/store';

const BUCKETS = Array.from({ length: 256 }, (_, index) => index.toString(16).padStart(2, '0'));

/**
 * The keys of a session. Sessions are in 256 buckets: those of a user in one, those without a user spread by their id. The
 * braces are a Redis Cluster hash tag: what is in one bucket shares a slot, and changes in one script.
 */
export interface SessionKeys {
  /** Its name in indexes: the encoded key. */
  readonly member: string;
  /** Hash: what every commit changes as one field, head, description, time of the first commit, format. */
  readonly session: string;
  /** List: one message an element, as JSON. */
  readonly messages: string;
  /** String: who has the lease of the session now. It ends with the lease. */
  readonly lease: string;
  /** String: the fence of the newest lease that was granted. */
  readonly fence: string;
  /** String: the longest lifetime of a session in the bucket, in milliseconds, or `no`. */
  readonly lifetime: string;
  /** String: the time of its last change, and the bytes of the session's log. */
  readonly log: string;
  /** Sorted set: the latest changes of logs in the bucket, by time. */
  readonly operations: string;
  /** Sorted sets by the time of the last commit: of the bucket, of its tenant in the bucket, of its user. */
  readonly indexes: readonly string[];
}

export function keysOf(keyPrefix: string, key: SessionKey): SessionKeys {
  return keysOfMember(keyPrefix, checkKey(key).toString());
}

/** {@link keysOf} of an encoded key. */
export function keysOfMember(keyPrefix: string, member: string): SessionKeys {
  // Its text is its parts, encoded: to encode them again would be a good part of what a commit costs here.
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

/** The indexes in which the sessions of a scope are, among others. */
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
