import type { SessionStore, Workspace } from '@x/core';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';
import { backendSchema } from './options.js';
import { RedisSession } from './redis-session.js';
import { RedisWorkspace, type RedisWorkspaceOptions } from './workspace/redis-workspace.js';
import { withLogs } from './workspace/with-logs.js';

/** Options of `redisBackend`. */
export interface RedisBackendOptions extends RedisWorkspaceOptions {
  /**
   * Where to store the logs of sessions, which take more than half of the memory. Use a workspace, such as a `LocalWorkspace` on a
   * shared volume or a `RedisWorkspace` on another Redis, or a session store with collections, such as a `PostgresSession`. Default: in
   * Redis. The agent never closes this storage.
   */
  readonly logs?: Workspace | SessionStore | undefined;
}

const optionsSchema = backendSchema.extend({
  logs: z
    .custom<Workspace | SessionStore>(
      (value) => typeof value === 'object' && value !== null && ('append' in value || 'commit' in value),
      'must be a workspace, or a session store with collections',
    )
    .optional(),
});

/**
 * Creates a session store with leases, and a workspace, on one Redis.
 *
 * @param options `keyPrefix`: prefix of every key; default `x:`. `logs`: another place for the logs of sessions.
 * @example
 * ```ts
 * const builder = HarnessAgent.builder().distributed(redisBackend({ client }));
 * ```
 * @throws {InvalidInputError} for unknown or invalid options.
 */
export function redisBackend(options: RedisBackendOptions): {
  readonly session: RedisSession;
  readonly workspace: Workspace;
} {
  const { logs, ...backend } = parseWith(optionsSchema, options, 'redisBackend options');
  const workspace = new RedisWorkspace(backend);
  return {
    session: new RedisSession(backend),
    workspace: logs === undefined ? workspace : withLogs(workspace, logs),
  };
}
