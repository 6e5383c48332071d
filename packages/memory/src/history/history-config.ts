import * as z from 'zod';
import { MemoryIndex } from '../memory-index.js';

export const historyConfigSchema = z.strictObject({
  /** Characters that one answer of a tool may have. What does not fit is announced and can be asked for. */
  maxOutputChars: z.int().min(1_000).default(20_000),
  /**
   * Searches an index of the logs instead of the logs: the path of its file, or an index that is open already and stays
   * the caller's, for example that of `memory()`. Default: none, every search reads the logs.
   */
  index: z
    .union([z.string().min(1), z.custom<MemoryIndex>((value) => value instanceof MemoryIndex)])
    .optional(),
  /** Characters of one message in an answer. */
  maxMessageChars: z.int().min(100).default(1_000),
  /** Whether the sessions of the user's other agents can be read as well, by their `agentId`. */
  otherAgents: z.boolean().default(true),
});

/** Options of `sessionHistory`. */
export type SessionHistoryConfig = z.input<typeof historyConfigSchema>;
export type HistorySettings = z.output<typeof historyConfigSchema>;
