import type { AgentActivity, Capability } from '@x/core';
import { type AgentActivityBody, notify } from '@x/core/internal';

/** Reports an activity of one call to the capabilities. */
export type Report = (activity: AgentActivityBody) => void;

type CallName = Pick<AgentActivity, 'agentId' | 'sessionId' | 'callId' | 'kind'>;

/** Returns the report function of one call, or `undefined` if no capability has a `monitor`, so that nothing is measured. */
export function reportOf(capabilities: readonly Capability[], call: CallName): Report | undefined {
  const monitors = capabilities.filter((capability) => capability.monitor !== undefined);
  if (monitors.length === 0) return undefined;
  return (body) => {
    const activity = { ...body, ...call };
    for (const one of monitors)
      notify(`monitor of "${one.name}"`, (it: AgentActivity) => one.monitor?.(it), activity);
  };
}
