export { type AgUiEvent, type ToAgUiOptions, toAgUi } from './ag-ui.js';
export type { AgentSettings } from './agent/agent-parts.js';
export type {
  CallInput,
  CallOptions,
  Decision,
  Decisions,
  OutputOptions,
  OutputReply,
  Reply,
} from './agent/call-options.js';
export type { CallStream } from './agent/call-stream.js';
export {
  type CapabilityFactory,
  type CapabilityReference,
  CapabilityRegistry,
} from './agent/capability-registry.js';
export { HarnessAgent } from './agent/harness-agent.js';
export type { HarnessAgentBuilder } from './agent/harness-agent-builder.js';
export type { CallLimits, Limits } from './agent/limits.js';
export { type ShutdownOptions, type SignalSource, shutdownOnSignals } from './agent/shutdown-on-signals.js';
export { type AgentsFilesConfig, agentsFiles } from './capabilities/agents-files.js';
export { type BudgetConfig, budget, type Spending, spendingOf } from './capabilities/budget/budget.js';
export {
  bubblewrap,
  container,
  type Execution,
  type Executor,
  findSandbox,
  localExecutor,
} from './capabilities/executors.js';
export { type Hooks, type HooksConfig, hooks, hooksConfigSchema } from './capabilities/hooks.js';
export { type PermissionsConfig, permissions } from './capabilities/permissions/permissions.js';
export { type PlanModeConfig, planMode } from './capabilities/plan-mode.js';
export { type ShellConfig, shell } from './capabilities/shell.js';
export { type SkillsConfig, skills } from './capabilities/skills/skills.js';
export type { SubagentDefinition, SubagentsConfig } from './capabilities/subagents/members.js';
export {
  type ExecuteTask,
  type SubagentTask,
  subagentTasks,
  type TaskEnd,
  type TaskOrder,
  type TaskRunner,
  type TaskStatus,
} from './capabilities/subagents/tasks.js';
export { subagents } from './capabilities/subagents/team.js';
export { todoList } from './capabilities/todo-list.js';
export { type ToolGroup, toolGroups } from './capabilities/tool-groups.js';
export { workspaceTools } from './capabilities/workspace-tools/workspace-tools.js';
export type { WorkspaceToolsConfig } from './capabilities/workspace-tools/workspace-tools-config.js';
export {
  type AgentConfig,
  agentJsonSchema,
  type ModelReference,
  type ParseAgentOptions,
  type PartReference,
  parseAgentConfig,
  parseModelReference,
} from './config/agent-file.js';
export {
  type AgentFromConfigOptions,
  agentFromConfig,
  type PartProviders,
} from './config/agent-from-config.js';
export { harnessCapabilities } from './config/file-capabilities.js';
export { type SubagentsInFiles, subagentFileProblems } from './config/subagents-in-files.js';
export { HarnessConfigError } from './errors/harness-config-error.js';
export { HarnessError, type HarnessErrorCode } from './errors/harness-error.js';
export { OutputError } from './errors/output-error.js';
export { type FrontMatter, parseFrontMatter } from './lib/front-matter.js';
export { formatRule } from './lib/permission-rule.js';
export { pendingCalls } from './loop/approvals.js';
export type { CallControl, CallProgress, StepControl } from './loop/control.js';
export type { ModelFailure } from './loop/model-fallback.js';
export type { OutputSchema } from './output/requested-output.js';
export { type SentEvent, serverSentEvents } from './server-sent-events.js';
