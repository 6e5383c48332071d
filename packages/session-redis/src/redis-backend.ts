import { RedisSession } from './redis-session.js';
import { RedisWorkspace, type RedisWorkspaceOptions } from './workspace/redis-workspace.js';

/**
 * Opens sessions, the leases of their turns, and files on one Redis.
 *
 * @param options `keyPrefix`: before every key; default `x:`.
 * @example
 * ```ts
 * const builder = HarnessAgent.builder().distributed(redisBackend({ client }));
 * ```
 * @throws {InvalidInputError} for unknown or impossible options.
 */
export function redisBackend(options: RedisWorkspaceOptions): {
  readonly session: RedisSession;
  readonly workspace: RedisWorkspace;
} {
  return { session: new RedisSession(options), workspace: new RedisWorkspace(options) };
}
