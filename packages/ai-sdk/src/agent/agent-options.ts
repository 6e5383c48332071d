import type { CompactionOutcome, Usage } from '@x/core';
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
  /** The agent's instructions, so that their tokens are counted. Needed before version 7 of the SDK, which passes them itself. */
  system: z.string().optional(),
  /** The agent's tools, so that their tokens are counted. */
  tools: z
    .array(z.custom<ToolDefinition>((value) => typeof value === 'object'))
    .readonly()
    .optional(),
  /** The context window of the agent's model, in tokens. Default: the compactor's own. */
  contextWindow: z.int().positive().optional(),
  /** Receives the outcome of every attempted compaction. */
  onCompaction: z.optional(callable<(outcome: CompactionOutcome) => void>()),
  /** Receives the usage of each model call of the compactor when the call ends, also of calls that end after the compaction. */
  onUsage: z.optional(callable<(usage: Usage) => void>()),
  /**
   * Stores compacted conversations for other processes. Without it, each process summarizes a conversation again. Set `userId` and
   * `tenantId`, so that other users cannot read the stored conversations, and so that erasing a user deletes them. Default: not stored.
   */
  remember: rememberSchema.optional(),
});

/** Options of {@link prepareStepWith}. */
export type AgentCompactionOptions = Readonly<z.input<typeof agentCompactionSchema>>;
