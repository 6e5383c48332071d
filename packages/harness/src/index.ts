export { toAgUi } from './ag-ui.js';
export type { AgentSettings } from './agent/agent-parts.js';
export type {
  CallInput,
  CallOptions,
  Decision,
  Decisions,
  EventCursor,
  Reply,
} from './agent/call-options.js';
export type { CallStream } from './agent/call-stream.js';
export { CapabilityRegistry } from './agent/capability-registry.js';
export { HarnessAgent } from './agent/harness-agent.js';
export type { HarnessAgentBuilder } from './agent/harness-agent-builder.js';
export type { Limits } from './agent/limits.js';
export { previewCall } from './agent/preview-call.js';
export { shutdownOnSignals } from './agent/shutdown-on-signals.js';
export { agentsFiles } from './capabilities/agents-files.js';
export { budget, spendingOf } from './capabilities/budget/budget.js';
export { type EventLog, eventLog } from './capabilities/event-log.js';
export {
  bubblewrap,
  container,
  type Executor,
  findSandbox,
  localExecutor,
} from './capabilities/executors.js';
export { type Hooks, hooks } from './capabilities/hooks.js';
export { permissions } from './capabilities/permissions/permissions.js';
export { planMode } from './capabilities/plan-mode.js';
export { shell } from './capabilities/shell.js';
export { skills } from './capabilities/skills/skills.js';
export type { SubagentDefinition } from './capabilities/subagents/members.js';
export {
  type ExecuteTask,
  type SubagentTask,
  subagentTasks,
  type TaskOrder,
  type TaskRunner,
} from './capabilities/subagents/tasks.js';
export { subagents } from './capabilities/subagents/team.js';
export { todoList } from './capabilities/todo-list.js';
export { toolGroups } from './capabilities/tool-groups.js';
export { workspaceTools } from './capabilities/workspace-tools/workspace-tools.js';

export {
  type AgentConfig,
  agentJsonSchema,
  type ModelReference,
  type PartReference,
  parseAgentConfig,
} from './config/agent-file.js';
export { agentFromConfig, type PartProviders } from './config/agent-from-config.js';
export { harnessCapabilities } from './config/file-capabilities.js';

export { HarnessConfigError } from './errors/harness-config-error.js';
export { HarnessError } from './errors/harness-error.js';
export { OutputError } from './errors/output-error.js';

export { formatRule } from './lib/permission-rule.js';
export { pendingCalls } from './loop/approvals.js';
export type { CallControl } from './loop/control.js';

export { type SentEvent, serverSentEvents } from './server-sent-events.js';
