import type { AgentActivity, Capability } from '@x/core';
import { type AgentActivityBody, tell } from '@x/core/internal';

/** Tells the capabilities of what happens around one call. */
export type Report = (activity: AgentActivityBody) => void;

type CallName = Pick<AgentActivity, 'agentId' | 'sessionId' | 'callId' | 'kind'>;

/** Makes the report of one call; `undefined` where nobody wants it, so that nothing need be measured. */
export function reportOf(capabilities: readonly Capability[], call: CallName): Report | undefined {
  const monitors = capabilities.filter((capability) => capability.monitor !== undefined);
  if (monitors.length === 0) return undefined;
  return (body) => {
    const activity = { ...body, ...call };
    for (const one of monitors)
      tell(`monitor of "${one.name}"`, (it: AgentActivity) => one.monitor?.(it), activity);
  };
}
