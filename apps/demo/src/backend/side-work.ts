import type { AgentState } from '@x/core';
import { headOf, readText, type SessionKey, type Workspace } from '@x/core';
import { type HarnessAgent, type SubagentTask, subagentTasks } from '@x/harness';
import type { BackgroundTask, Plan, SideWork } from '../server/transcript.js';

const MAX_PLAN_CHARS = 40_000;
const MAX_TASK_CHARS = 2_000;

/** Reads the plan and the tasks of subagents. */
export async function readSideWork(
  state: AgentState,
  {
    workspace,
    agent,
    key,
  }: { readonly workspace: Workspace; readonly agent: HarnessAgent; readonly key: SessionKey },
): Promise<SideWork> {
  const { active, planFile } = state.planModeContext;
  const isThere = planFile !== undefined && (await workspace.stat(planFile));
  const text = isThere ? await readText(workspace, planFile) : undefined;
  const plan: Plan = {
    active,
    ...(planFile === undefined || text === undefined
      ? {}
      : { path: planFile, text: headOf(text, MAX_PLAN_CHARS) }),
  };
  const { mode } = state.permissionContext;
  const tasks = (await subagentTasks(agent.session, key)).map(toTask);
  return { plan, tasks, ...(mode === undefined ? {} : { permissionMode: mode }) };
}

function toTask({
  taskId,
  subagent,
  task,
  status,
  createdAt,
  endedAt,
  result,
  error,
}: SubagentTask): BackgroundTask {
  const outcome = error ?? result;
  return {
    taskId,
    subagent,
    task: headOf(task, MAX_TASK_CHARS),
    status,
    createdAt,
    ...(endedAt === undefined ? {} : { endedAt }),
    ...(outcome === undefined ? {} : { outcome: headOf(outcome, MAX_TASK_CHARS) }),
  };
}
