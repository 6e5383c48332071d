import type { CompactionOutcome, ToolDefinition } from '@x/core';
import * as z from 'zod';
import { type ChatOptions, chatShape } from '../ui/chat-key.js';

/** What a compactor is told about the agent whose conversation it reduces. */
export interface AgentCompactionOptions {
  /** The agent's instructions, so that they count: version 6 of the SDK does not hand them over, version 7 does. */
  readonly system?: string | undefined;
  /** The agent's tools, so that they count. */
  readonly tools?: readonly ToolDefinition[] | undefined;
  /** The window of the agent's model, in tokens; overrides the compactor's own. */
  readonly contextWindow?: number | undefined;
  /** Told of every run of the compactor. */
  readonly onCompaction?: ((outcome: CompactionOutcome) => void) | undefined;
  /**
   * Remembers reductions for other processes, too: without it each one summarizes a conversation anew. Default: none. Give
   * `userId` and `tenantId` with it, so that what is kept is kept apart and goes when a person is erased.
   */
  readonly remember?: ChatOptions | undefined;
  /** How many reductions are remembered in this process, over all conversations. Default 2 000. */
  readonly maxReductions?: number | undefined;
}

export const agentCompactionSchema = z.strictObject({
  system: z.string().optional(),
  tools: z.array(z.custom<ToolDefinition>((value) => typeof value === 'object')).optional(),
  contextWindow: z.int().positive().optional(),
  onCompaction: z
    .custom<(outcome: CompactionOutcome) => void>(
      (value) => typeof value === 'function',
      'must be a function',
    )
    .optional(),
  remember: z.strictObject(chatShape).optional(),
  maxReductions: z.int().positive().default(2_000),
});
