import { z } from 'zod';

export const historyConfigSchema = z.strictObject({
  /** Characters that one answer of a tool may have. What does not fit is announced and can be asked for. */
  maxOutputChars: z.int().min(1_000).default(20_000),
  /** Characters of one message in an answer. */
  maxMessageChars: z.int().min(100).default(1_000),
});

export type SessionHistoryConfig = z.input<typeof historyConfigSchema>;
export type HistorySettings = z.output<typeof historyConfigSchema>;
