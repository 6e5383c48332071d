export type { AgentSettings } from './agent-options.js';
export { type ShellConfig, shell } from './capabilities/shell.js';
export { renderTodos, taskList } from './capabilities/task-list.js';
export { type WorkspaceToolsConfig, workspaceTools } from './capabilities/workspace-tools/workspace-tools.js';
export {
  type CapabilityFactory,
  type CapabilityReference,
  CapabilityRegistry,
} from './capability-registry.js';
export { HarnessConfigError } from './errors/harness-config-error.js';
export { HarnessError, type HarnessErrorCode } from './errors/harness-error.js';
export { type CallInput, type CallOptions, HarnessAgent } from './harness-agent.js';
export type { HarnessAgentBuilder } from './harness-agent-builder.js';
export type { Reply } from './reply.js';
export { type ShutdownOptions, type SignalSource, shutdownOnSignals } from './shutdown-on-signals.js';
