import { type Capability, parseWith } from '@x/core';
import * as z from 'zod';
import { LazyIndex } from '../lazy-index.js';
import { scopePrefix } from '../memory-scope.js';
import { indexSchema, withoutUser } from '../settings.js';
import { historyTools } from './history-tools.js';

export const historyConfigSchema = z.strictObject({
  /** Characters that one answer of a tool may have. What does not fit is announced and can be asked for. */
  maxOutputChars: z.int().min(1_000).default(20_000),
  /**
   * Searches an index of the logs instead of the logs: the path of its file, or an index that is open already and stays
   * the caller's, for example that of `memory()`. Default: none, every search reads the logs.
   */
  index: indexSchema.optional(),
  /** Characters of one message in an answer. */
  maxMessageChars: z.int().min(100).default(1_000),
  /** Whether the sessions of the user's other agents can be read as well, by their `agentId`. */
  otherAgents: z.boolean().default(true),
  withoutUser,
});

/** Options of `sessionHistory`. */
export type SessionHistoryConfig = z.input<typeof historyConfigSchema>;
export type HistorySettings = z.output<typeof historyConfigSchema>;

/**
 * Tools with which an agent reads the lossless logs of its sessions: what a compaction removed from this one, and what
 * was said in earlier ones. They see the sessions of the call's own tenant and user, and no others: of the own agent, and,
 * unless `otherAgents` is false, of another that is asked for by its `agentId`. A session without a user sees itself alone,
 * unless `withoutUser` is `shared`.
 *
 * @throws {InvalidInputError} for a malformed configuration.
 */
export function sessionHistory(config: SessionHistoryConfig = {}): Capability {
  const settings = parseWith(historyConfigSchema, config, 'sessionHistory configuration');
  const index = settings.index === undefined ? undefined : new LazyIndex(settings.index);
  return {
    name: 'session_history',
    tools: historyTools(settings, index),
    async erase(user) {
      await index?.forget(scopePrefix(user));
    },
    close: async () => index?.close(),
  };
}
