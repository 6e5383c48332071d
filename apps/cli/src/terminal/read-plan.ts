import { type AgentState, readText } from '@x/core';
import type { HarnessAgent } from '@x/harness';

/** The plan of a session with where it is, to be shown; `undefined` where there is none yet. */
export async function readPlan({ storage }: HarnessAgent, state: AgentState): Promise<string | undefined> {
  const { planFile } = state.planModeContext;
  if (planFile === undefined) return undefined;
  const plan = (await storage.stat(planFile)) ? await readText(storage, planFile) : '(the file is gone)';
  return `${planFile}:\n${plan}`;
}
