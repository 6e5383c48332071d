import type { ToolContext } from '@x/core';
import { listAgents } from '../logged-sessions.js';

/** Agents that are named at most. */
const MAX_NAMED = 20;

/** The answer where an agent has no sessions with this user: it names those that have. */
export async function noSessionsOf(agentId: string | undefined, context: ToolContext): Promise<string> {
  const agents = await listAgents(context, MAX_NAMED + 1);
  const names = agents.slice(0, MAX_NAMED).map((agent) => JSON.stringify(agent));
  const more = agents.length > MAX_NAMED ? ' and others' : '';
  const known = names.length === 0 ? '' : ` These agents have some: ${names.join(', ')}${more}.`;
  return `There are no sessions of agent ${JSON.stringify(agentId)} with this user.${known}`;
}
