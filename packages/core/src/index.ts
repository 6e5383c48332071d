export type { AgentEvent, AgentEventBody, ContextUsage, PendingCall, StopReason } from './agent-event.js';
export {
  type ActiveCall,
  AGENT_STATE_VERSION,
  AgentState,
  type PendingApproval,
  type PermissionContext,
  type PermissionRule,
  type PlanModeContext,
  type TasksContext,
  type Todo,
  type ToolGroupContext,
} from './agent-state.js';
export type {
  AgentComposition,
  CallScope,
  Capability,
  Objection,
  ReasonScope,
  ToolScope,
} from './capability.js';
export { checkChange } from './check-change.js';
export { checkFence } from './check-fence.js';
export { type Clock, systemClock } from './clock.js';
export type {
  CompactionOutcome,
  CompactionReason,
  CompactionStatus,
  CompactionStep,
  CompactOptions,
  Compactor,
  ManifestEntry,
  MessageFate,
} from './compactor.js';
export { type CompiledSchema, compileSchema } from './compile-schema.js';
export {
  type ContentBlock,
  contentBlockSchema,
  type FileBlock,
  type FileSource,
  type OpaqueBlock,
  type TextBlock,
  type ThinkingBlock,
  type ToolOutputBlock,
  type ToolResultBlock,
  type ToolUseBlock,
} from './content-block.js';
export { countBlock, countMessage, countMessages, countRequest, countTool } from './count-tokens.js';
export { deleteOlderThan, type RetentionOptions } from './delete-older-than.js';
export { decodeSegment, encodeSegment, fileSegment } from './encode-segment.js';
export { CapabilityError } from './errors/capability-error.js';
export {
  classifyModelError,
  isContextOverflow,
  type ModelErrorKind,
} from './errors/classify-model-error.js';
export { ContextOverflowError } from './errors/context-overflow-error.js';
export { InvalidInputError, type Issue } from './errors/invalid-input-error.js';
export { ModelError } from './errors/model-error.js';
export { type ModelErrorFacts, modelErrorFacts } from './errors/model-error-facts.js';
export { SessionConflictError } from './errors/session-conflict-error.js';
export { SessionLeaseError } from './errors/session-lease-error.js';
export { SessionStoreError } from './errors/session-store-error.js';
export { StopCallError } from './errors/stop-call-error.js';
export { WorkspaceError, type WorkspaceErrorCode } from './errors/workspace-error.js';
export { hasBrand, XError } from './errors/x-error.js';
export { estimateCounter } from './estimate-counter.js';
export { type FileCapability, fileCapability, fileJsonSchema, parseFileConfig } from './file-config.js';
export { InMemorySession } from './in-memory-session.js';
export { type JsonObject, type JsonValue, jsonObjectSchema, jsonValueSchema } from './json.js';
export { JsonSession } from './json-session.js';
export { LocalWorkspace } from './local-workspace.js';
export {
  assistantMessage,
  type Message,
  type MessageKind,
  type MessageOptions,
  messageSchema,
  type Role,
  systemMessage,
  textOf,
  toolResultBlock,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from './message.js';
export {
  addUsage,
  type FinishReason,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type NativeCompaction,
  type ResponseFormat,
  type ToolAnnotations,
  type ToolDefinition,
  type Usage,
} from './model.js';
export { mountWorkspace } from './mount-workspace.js';
export { formatPath, parseWith } from './parse.js';
export { type Line, readLines } from './read-lines.js';
export {
  type Redact,
  redactJson,
  redactSecrets,
  secretRedactor,
} from './redaction/redact-secrets.js';
export type { SecretPattern } from './redaction/secret-patterns.js';
export {
  RuntimeContext,
  type RuntimeContextBuilder,
  type RuntimeIdentity,
  type TypeKey,
} from './runtime-context.js';
export { type OpenSessionOptions, openSession, type Session } from './session.js';
export { SessionKey, type SessionKeyParts, type SessionScope } from './session-key.js';
export type { SessionLog } from './session-log.js';
export { sessionPrefix } from './session-prefix.js';
export type {
  Reach,
  SessionChange,
  SessionInfo,
  SessionLease,
  SessionStore,
  StoredSession,
} from './session-store.js';
export { type SessionTurn, type TakeTurnOptions, takeTurn } from './session-turn.js';
export { toSnakeCase } from './snake-case.js';
export type { StandardResult, StandardSchema } from './standard-schema.js';
export { headOf, tailOf } from './text.js';
export type { TokenCounter } from './token-counter.js';
export { defineTool, type Tool, type ToolContext, type ToolReturn } from './tool.js';
export { unlessAborted } from './unless-aborted.js';
export { type HeldLock, readText, type Workspace, type WorkspaceEntry } from './workspace.js';
export { pathSegments } from './workspace-path.js';
export { WorkspaceSession } from './workspace-session.js';
export { WorkspaceSessionLog } from './workspace-session-log.js';
