import type { ToolContext } from '@x/core';
import * as z from 'zod';
import { listAgents } from '../logged-sessions.js';
import type { HistorySettings } from './history-config.js';

/** Agents that are named at most. */
const MAX_NAMED = 20;

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

/** The answer where an agent has no sessions with this user: it names those that have. */
export async function noSessionsOf(agentId: string | undefined, context: ToolContext): Promise<string> {
  const agents = await listAgents(context, MAX_NAMED + 1);
  const names = agents.slice(0, MAX_NAMED).map((agent) => JSON.stringify(agent));
  const more = agents.length > MAX_NAMED ? ' and others' : '';
  const known = names.length === 0 ? '' : ` These agents have some: ${names.join(', ')}${more}.`;
  return `There are no sessions of agent ${JSON.stringify(agentId)} with this user.${known}`;
}
