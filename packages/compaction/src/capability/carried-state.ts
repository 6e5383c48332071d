import type { AgentState } from '@x/core';

/** Renders where the plan is, for the end of every summary. A todo list needs no such place: each request ends with it. */
export function carriedState(state: AgentState): string | undefined {
  const sections: string[] = [];
  const { planFile, active } = state.planModeContext;
  if (planFile) sections.push(`Plan: ${planFile}`);
  if (active) sections.push('Plan mode is on.');
  return sections.length > 0 ? sections.join('\n') : undefined;
}
