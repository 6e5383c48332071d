import * as z from 'zod';
import { parseWith } from '../config/parse.js';
import { isUnreadable } from '../errors/session-errors.js';
import { recordSets } from './collections.js';
import { deleteUnlessLeased } from './held-sessions.js';
import { type SessionKey, scopeSchema } from './session-key.js';
import type { SessionStore } from './session-store.js';

const optionsSchema = z.strictObject({
  /** Deletes sessions whose last commit is before this time. */
  olderThan: z.date(),
  /** Only sessions of this tenant, user or agent. Default: all. */
  scope: scopeSchema.optional(),
  /** Maximum number of sessions to delete. Default: all. */
  limit: z.int().min(0).optional(),
});

/** Options of `deleteOlderThan`. */
export type RetentionOptions = Readonly<z.input<typeof optionsSchema>>;

/**
 * Deletes sessions and records of collections whose last commit is older than a date, in any store. Returns the number of deleted
 * records. Skips sessions that are leased or unreadable, or that get a commit in the meantime. Sessions in Redis may also expire: `ttlSeconds`.
 *
 * @example
 * ```ts
 * const thirtyDaysAgo = new Date(Date.now() - 30 * 86_400_000);
 * await deleteOlderThan(store, { olderThan: thirtyDaysAgo });
 * ```
 * @throws {InvalidInputError} for invalid options.
 * @throws {SessionStoreError} when the store cannot be reached. If the store lists unreadable sessions, `session_corrupt`,
 * `session_older` or `session_newer` after all others were deleted.
 */
export async function deleteOlderThan(store: SessionStore, options: RetentionOptions): Promise<number> {
  const { olderThan, scope, limit } = parseWith(optionsSchema, options, 'deleteOlderThan options');
  let deleted = 0;
  let damage: unknown;
  for (const { records } of await recordSets(store)) {
    try {
      for await (const { key } of records.list(scope, { updatedBefore: olderThan })) {
        if (deleted === limit) return deleted;
        if (await deleteIfStillOlder(records, key, olderThan)) deleted++;
      }
    } catch (error) {
      if (!isUnreadable(error)) throw error;
      damage = error;
    }
  }
  if (damage !== undefined) throw damage;
  return deleted;
}

async function deleteIfStillOlder(store: SessionStore, key: SessionKey, olderThan: Date): Promise<boolean> {
  try {
    // Load the whole session, so that an unreadable one is kept.
    const stored = await store.load(key);
    if (stored === undefined || Date.parse(stored.updatedAt) >= olderThan.getTime()) return false;
    return (await deleteUnlessLeased(store, key, stored)) === 'deleted';
  } catch (error) {
    // Keep it, so that it can be inspected first.
    if (isUnreadable(error)) return false;
    throw error;
  }
}
