import { z } from 'zod';
import type { HistorySettings } from './history-config.js';

const agentField = {
  agentId: z
    .string()
    .min(1)
    .max(1_000)
    .optional()
    .describe('Another agent of this user, whose sessions to use; default: your own'),
};

/** The field with which a tool is asked about another agent's sessions; none where the settings do not allow that. */
export function agentFieldOf({ otherAgents }: HistorySettings): typeof agentField {
  // An absent field is read as `undefined`, which the type allows.
  return otherAgents ? agentField : ({} as typeof agentField);
}
