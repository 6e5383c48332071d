import { type AgentState, readText } from '@x/core';
import type { HarnessAgent } from '@x/harness';

/** The plan of a session with where it is, to be shown; `undefined` where there is none yet. */
export async function readPlan({ workspace }: HarnessAgent, state: AgentState): Promise<string | undefined> {
  const { planFile } = state.planModeContext;
  if (planFile === undefined) return undefined;
  const plan = (await workspace.stat(planFile)) ? await readText(workspace, planFile) : '(the file is gone)';
  return `${planFile}:\n${plan}`;
}
