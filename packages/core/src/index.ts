export type { AgentActivity } from './agent/agent-activity.js';
export type { AgentEvent, AgentEventBody, PendingCall, StopReason } from './agent/agent-event.js';
export { AgentState, type PermissionRule, type Todo } from './agent/agent-state.js';
export type {
  AgentComposition,
  CallScope,
  Capability,
  Objection,
  ReasonScope,
  ToolScope,
} from './agent/capability.js';
export { type ClientEvent, toClientEvent } from './agent/client-event.js';
export { type CompactionCost, compactionCostOf } from './agent/compaction-cost.js';
export type {
  CompactionOutcome,
  CompactionReason,
  CompactionStatus,
  CompactionStep,
  CompactOptions,
  Compactor,
  GoneItem,
  ManifestEntry,
  MessageFate,
  Pin,
  PinProof,
  PinRequest,
  Receipt,
} from './agent/compactor.js';
export { RuntimeContext } from './agent/runtime-context.js';
export { parseFileConfig } from './config/file-config.js';
export {
  ApprovalRequiredError,
  CapabilityError,
  OutcomeUnknownError,
  StopCallError,
} from './errors/call-errors.js';
export { isContextOverflow } from './errors/classify-model-error.js';
export { type ClientError, httpStatusOf, toClientError } from './errors/client-error.js';
export { InvalidInputError } from './errors/invalid-input-error.js';
export { ContextOverflowError, ModelError } from './errors/model-error.js';
export { SessionConflictError, SessionLeaseError, SessionStoreError } from './errors/session-errors.js';
export { WorkspaceError } from './errors/workspace-error.js';
export { XError } from './errors/x-error.js';
export { TimeLimitError } from './lib/deadline.js';
export type { JsonObject, JsonValue } from './lib/json.js';
export { SqliteMissingError } from './lib/sqlite.js';
export type {
  ContentBlock,
  FileBlock,
  OpaqueBlock,
  TextBlock,
  TextOrigin,
  ThinkingBlock,
  ToolOutputBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './messages/content-block.js';
export {
  assistantMessage,
  type Message,
  systemMessage,
  textOf,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from './messages/message.js';
export { messageSchema } from './messages/message-schemas.js';
export type { StandardSchema } from './model/compile-schema.js';
export {
  addUsage,
  type FinishReason,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type Usage,
} from './model/model.js';
export { defineTool, type Tool, type ToolContext } from './model/tool.js';
export { withRetries } from './model/with-retries.js';
export { copyStore } from './sessions/copy-store.js';
export { deleteOlderThan } from './sessions/delete-older-than.js';
export { InMemorySession } from './sessions/in-memory-session.js';
export { ItemLog } from './sessions/item-log.js';
export { openSession, type Session } from './sessions/session.js';
export { SessionKey, type SessionKeyParts, type SessionScope } from './sessions/session-key.js';
export type { SessionInfo, SessionLog, SessionStore } from './sessions/session-store.js';
export { type SessionTurn, takeTurn } from './sessions/session-turn.js';
export { StreamLog } from './sessions/stream-log.js';
export { eraseSession, eraseUser, exportUser } from './sessions/user-data.js';
export { observeStore } from './sessions/wrappers/observe-store.js';
export type { ContextUsage } from './tokens/context-meter.js';
export type { TokenCounter } from './tokens/count-tokens.js';
export { estimateCounter } from './tokens/estimate-counter.js';
export type { Isolation } from './workspace/agent-files.js';
export { mountWorkspace } from './workspace/mount-workspace.js';
export { storageOf } from './workspace/storage.js';
export { readText, type Workspace } from './workspace/workspace.js';
