import * as z from 'zod';
import { parseWith } from '../../config/parse.js';
import { isUnreadable, SessionConflictError } from '../../errors/session-errors.js';
import { type Clock, systemClock } from '../../lib/clock.js';
import { deleteOlderThan } from '../delete-older-than.js';
import type { SessionStore } from '../session-store.js';
import { wrapStore } from './wrap-store.js';

const optionsSchema = z.strictObject({
  ttlSeconds: z.int().min(1),
  clock: z.custom<Clock>().default(systemClock),
});

/**
 * Gives the sessions of any store a lifetime: one that was not committed to for `ttlSeconds` is gone for whoever loads or lists, and
 * begins again in its place. Its data is removed then, or by `sweep`, which returns how many it deleted. `RedisSession`,
 * `SqliteSession` and `PostgresSession` have a `ttlSeconds` of their own.
 *
 * @example
 * ```ts
 * const store = expireSessions(new MysqlSession({ pool }), { ttlSeconds: 30 * 86_400 });
 * ```
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export function expireSessions(
  store: SessionStore,
  options: { readonly ttlSeconds: number; readonly clock?: Clock | undefined },
): SessionStore & { sweep(): Promise<number> } {
  const { ttlSeconds, clock } = parseWith(optionsSchema, options, 'expireSessions options');
  const limit = () => clock.now() - ttlSeconds * 1000;
  const isExpired = ({ updatedAt }: { readonly updatedAt: string }) => Date.parse(updatedAt) < limit();
  const wrapped = wrapStore(store, (store) => ({
    async load(key, load) {
      const stored = await store.load(key, load);
      return stored === undefined || isExpired(stored) ? undefined : stored;
    },
    async commit(key, change) {
      try {
        return await store.commit(key, change);
      } catch (error) {
        if (change.expected !== undefined || !SessionConflictError.isInstance(error)) throw error;
        const stored = await store.load(key, { last: 0 });
        if (stored === undefined || !isExpired(stored)) throw error;
        // In place of what has expired, unless someone else was faster.
        return store.commit(key, { ...change, expected: stored.token, keep: 0 });
      }
    },
    async *list(scope, list) {
      for await (const info of store.list(scope, list)) {
        // Those that were committed to meanwhile come last.
        if (list?.expired || !isExpired(info)) yield info;
      }
    },
    async delete(key, options) {
      const lived = await store.load(key, { last: 0 }).then(
        (stored) => stored !== undefined && !isExpired(stored),
        (error) => {
          // Of what cannot be read, nobody can tell whether it has expired. It is deleted all the same.
          if (isUnreadable(error)) return true;
          throw error;
        },
      );
      return (await store.delete(key, options)) && lived;
    },
  }));
  return { ...wrapped, sweep: () => deleteOlderThan(store, { olderThan: new Date(limit()) }) };
}
