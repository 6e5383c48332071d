export type {
  AgentEvent,
  AgentEventBody,
  DraftReference,
  PendingCall,
  StopReason,
} from './agent/agent-event.js';
export {
  type ActiveCall,
  AGENT_STATE_VERSION,
  AgentState,
  PERMISSION_MODES,
  type PendingApproval,
  type PermissionContext,
  type PermissionRule,
  type PlanModeContext,
  renderTodos,
  type TasksContext,
  type Todo,
  type ToolGroupContext,
} from './agent/agent-state.js';
export type {
  AgentComposition,
  CallScope,
  Capability,
  Objection,
  ReasonScope,
  ToolScope,
} from './agent/capability.js';
export type {
  CompactionOutcome,
  CompactionReason,
  CompactionStatus,
  CompactionStep,
  CompactOptions,
  Compactor,
  ManifestEntry,
  MessageFate,
} from './agent/compactor.js';
export {
  RuntimeContext,
  type RuntimeContextBuilder,
  type RuntimeIdentity,
  type TypeKey,
} from './agent/runtime-context.js';
export {
  type FileCapability,
  fileCapability,
  fileJsonSchema,
  parseFileConfig,
  toSnakeCase,
} from './config/file-config.js';
export { callable, formatPath, having, parseWith } from './config/parse.js';
export {
  ApprovalRequiredError,
  CapabilityError,
  OutcomeUnknownError,
  StopCallError,
} from './errors/call-errors.js';
export {
  classifyModelError,
  isContextOverflow,
  type ModelErrorFacts,
  mayRefuseItems,
  modelErrorFacts,
} from './errors/classify-model-error.js';
export { InvalidInputError, type Issue } from './errors/invalid-input-error.js';
export { ContextOverflowError, ModelError, type ModelErrorKind } from './errors/model-error.js';
export { SessionConflictError, SessionLeaseError, SessionStoreError } from './errors/session-errors.js';
export { WorkspaceError, type WorkspaceErrorCode } from './errors/workspace-error.js';
export { XError } from './errors/x-error.js';
export { type Clock, systemClock } from './lib/clock.js';
export {
  Deadline,
  startTimer,
  stepwise,
  TimeLimitError,
  unlessAborted,
  withinLimit,
} from './lib/deadline.js';
export { digest, randomHex } from './lib/digest.js';
export { decodeSegment, encodeSegment, fileSegment } from './lib/encode-segment.js';
export { exactText } from './lib/exact-text.js';
export { isObject, type JsonObject, type JsonValue, jsonText, parsedJson, sortedJson } from './lib/json.js';
export { jsonObjectSchema, jsonValueSchema } from './lib/json-schemas.js';
export { KeyedMutex } from './lib/keyed-mutex.js';
export { runTimed } from './lib/run-timed.js';
// For the packages that use SQLite.
export {
  isSqliteMissing,
  type LoadModule,
  loadSqlite,
  type OpenSqlite,
  SqliteDatabase,
  SqliteMissingError,
  SqliteStatement,
  type SqliteValue,
  type SqliteValues,
  sqliteCode,
} from './lib/sqlite.js';
export { tell } from './lib/tell.js';
export { errorText, escapeTags, headOf, nearNames, tailOf } from './lib/text.js';
export { warn } from './lib/warn.js';
export { checkMessages, readMessages } from './messages/check-messages.js';
export type {
  ContentBlock,
  FileBlock,
  FileSource,
  OpaqueBlock,
  TextBlock,
  ThinkingBlock,
  ToolOutputBlock,
  ToolResultBlock,
  ToolUseBlock,
} from './messages/content-block.js';
export {
  assistantMessage,
  type Message,
  type MessageKind,
  type MessageOptions,
  nativeIndex,
  type Role,
  systemMessage,
  textOf,
  toolResultBlock,
  toolResultMessage,
  toolResultsOf,
  toolUsesOf,
  userMessage,
} from './messages/message.js';
export { contentBlockSchema, messageSchema } from './messages/message-schemas.js';
export { type MessageGroup, type Pairing, pairingOf, type RepeatedPair } from './messages/pairing.js';
export {
  madeFrom,
  opaquePart,
  originOf,
  type Part,
  parseInput,
  partsFrom,
  plainJson,
  readOutput,
  readPart,
} from './messages/parts.js';
export { answerFault, refuseNoAnswer } from './model/check-answer.js';
export type { StandardResult, StandardSchema } from './model/compile-schema.js';
export { type CompiledSchema, compileSchema } from './model/compile-schema.js';
export {
  addUsage,
  FINISH_REASONS,
  type FinishReason,
  type Model,
  type ModelRequest,
  type ModelResponse,
  type ModelStreamPart,
  type NativeCompaction,
  type NativeCompactionRequest,
  type ResponseFormat,
  soundUsage,
  type ToolAnnotations,
  type ToolChoice,
  type ToolDefinition,
  type Usage,
} from './model/model.js';
export {
  type ApprovalDecision,
  defineTool,
  type ExecuteContext,
  type PathRole,
  type Tool,
  type ToolContext,
  type ToolReturn,
} from './model/tool.js';
export { type RetryOptions, withRetries } from './model/with-retries.js';
export {
  type Redact,
  redactJson,
  redactSecrets,
  secretRedactor,
} from './redaction/redact-secrets.js';
export type { SecretPattern } from './redaction/secret-patterns.js';
export { asCollection, collectionName, collectionOf, filledCollections } from './sessions/collections.js';
export { type CopyOptions, type CopyReport, copyStore } from './sessions/copy-store.js';
export { type DriverFailure, databaseAttempts } from './sessions/database-attempts.js';
export { decodeSession, type EncodedSession, sessionDamaged } from './sessions/decode-session.js';
export { deleteOlderThan, type RetentionOptions } from './sessions/delete-older-than.js';
export { sessionPrefix } from './sessions/files/session-files.js';
export { InMemorySession } from './sessions/in-memory-session.js';
export { itemFrom, itemJson } from './sessions/item-json.js';
export { type ItemChange, type ItemHistory, ItemLog } from './sessions/item-log.js';
export {
  describeHead,
  describeSession,
  type ListedRow,
  type ListedSession,
  type ListPosition,
  listAll,
  listedSession,
  listPages,
  parseDescription,
  rowOf,
} from './sessions/listing.js';
export { type OpenSessionOptions, openSession, type Session } from './sessions/session.js';
export {
  checkKey,
  SessionKey,
  type SessionKeyParts,
  type SessionScope,
} from './sessions/session-key.js';
export type {
  DeleteOptions,
  ListOptions,
  LoadOptions,
  SessionChange,
  SessionInfo,
  SessionLease,
  SessionLog,
  SessionStore,
  StoredSession,
} from './sessions/session-store.js';
export {
  LEASE_TTL_MS,
  type SessionTurn,
  type TakeTurnOptions,
  takeTurn,
  unlessBusy,
} from './sessions/session-turn.js';
// For the stores on SQL of this repository alone.
export { namedValues, type SqlValues } from './sessions/sql/named-values.js';
export { listRows, SQL_PARTS, type SqlListing } from './sessions/sql/sql-listing.js';
export {
  type LoadedRows,
  type RunSql,
  SQL_FORMAT,
  type SqlDialect,
  type SqlRow,
  SqlSession,
  type SqlWrite,
} from './sessions/sql/sql-session.js';
export {
  type Committed,
  checkChange,
  checkCommit,
  checkFormat,
  conflict,
  heldLease,
  isAnother,
  keepRefused,
  lastOf,
  lastWanted,
  leaseLost,
  leaseTime,
  operationId,
  operationOf,
  remember,
  retentionOf,
  storeUnavailable,
  tokenOf,
} from './sessions/store-rules.js';
export { StreamLog, type StreamLogOptions } from './sessions/stream-log.js';
export {
  type ErasedUser,
  eraseSession,
  eraseUser,
  exportUser,
  type UserPlaces,
  type UserRecord,
  type UserScope,
} from './sessions/user-data.js';
export { encodeSessions, encryption, type SessionCodec } from './sessions/wrappers/encode-sessions.js';
export { expireSessions } from './sessions/wrappers/expire-sessions.js';
export { observeStore, type StoreOperation } from './sessions/wrappers/observe-store.js';
export { type StoreWrapper, wrapStore } from './sessions/wrappers/wrap-store.js';
export { ContextMeter, type ContextUsage, type MeasuredRequest } from './tokens/context-meter.js';
export type { TokenCounter } from './tokens/count-tokens.js';
export {
  countBlock,
  countMessage,
  countMessages,
  countRequest,
  countSystem,
  countTool,
} from './tokens/count-tokens.js';
export { estimateCounter } from './tokens/estimate-counter.js';
export { agentFiles, ISOLATIONS, type Isolation } from './workspace/agent-files.js';
export { confineWorkspace, type WorkspaceConfine } from './workspace/confine-workspace.js';
export { mountWorkspace } from './workspace/mount-workspace.js';
export { storageOf } from './workspace/storage.js';
export {
  type HeldLock,
  keepsKind,
  pathSegments,
  readText,
  STORAGE,
  type Workspace,
  type WorkspaceEntry,
} from './workspace/workspace.js';
