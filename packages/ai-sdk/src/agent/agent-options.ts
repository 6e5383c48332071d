import type { CompactionOutcome } from '@x/core';
import { callable } from '@x/core/internal';
import type { ToolDefinition } from '@x/core/messages';
import * as z from 'zod';
import { chatSchema } from '../ui/chat-key.js';

const rememberSchema = chatSchema.extend({
  /** Milliseconds to wait for the store. After that, the step continues without it; 0 for no limit. Default 10 000. */
  timeoutMs: z.number().min(0).default(10_000),
});

/** Where reductions are kept, and whose they are. */
export type RememberOptions = Readonly<z.output<typeof rememberSchema>>;

export const agentCompactionSchema = z.strictObject({
  /** The agent's instructions, so that they count: version 6 of the SDK does not hand them over, version 7 does. */
  system: z.string().optional(),
  /** The agent's tools, so that they count. */
  tools: z
    .array(z.custom<ToolDefinition>((value) => typeof value === 'object'))
    .readonly()
    .optional(),
  /** The window of the agent's model, in tokens; overrides the compactor's own. */
  contextWindow: z.int().positive().optional(),
  /** Receives every compaction that was tried, in the provider's tokens where `contextWindow` is given. */
  onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
  /**
   * Remembers reductions for other processes, too: without it each one summarizes a conversation again. Default: none. Give
   * `userId` and `tenantId` with it, so that what is kept is kept apart and goes when a person is erased.
   */
  remember: rememberSchema.optional(),
});

/** Options about the agent whose conversation a compactor reduces. */
export type AgentCompactionOptions = Readonly<z.input<typeof agentCompactionSchema>>;
