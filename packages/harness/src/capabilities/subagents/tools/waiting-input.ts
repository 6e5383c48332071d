import { z } from 'zod';
import type { SubagentsSettings } from '../subagents-config.js';

/** How long a tool waits for a subagent, as the model may say it. */
export function waitingInput({ timeoutMs, maxTimeoutMs }: SubagentsSettings) {
  return {
    background: z.boolean().default(false).describe('Return at once'),
    timeoutMs: z
      .int()
      .min(0)
      .max(maxTimeoutMs)
      .optional()
      .describe(`Milliseconds to wait for the answer; ${timeoutMs} unless given`),
  };
}
