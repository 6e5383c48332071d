// Exports for the packages of this repository only. They are unsupported: any release may change or remove them.
export type { AgentActivityBody } from './agent/agent-activity.js';
export type { DraftReference } from './agent/agent-event.js';
export {
  AGENT_STATE_VERSION,
  PERMISSION_MODES,
  type PendingApproval,
  type PermissionContext,
  renderTodos,
} from './agent/agent-state.js';
export { clientJson, type ForClient } from './agent/client-event.js';
export {
  type CompactionCounters,
  compactionCounters,
  costOf,
} from './agent/compaction-cost.js';
export { OpenToolCalls, withoutOpenCalls } from './agent/open-tool-calls.js';
export type { RuntimeIdentity } from './agent/runtime-context.js';
export {
  type FileCapability,
  fileCapability,
  fileJsonSchema,
  refuseDepth,
  toSnakeCase,
} from './config/file-config.js';
export { callable, formatPath, fromClient, having, parseWith } from './config/parse.js';
export { isRefused, mayBeOverflow, mayRefuseItems } from './errors/classify-model-error.js';
export type { WordError } from './errors/client-error.js';
export { type Issue, readableIssues } from './errors/invalid-input-error.js';
export { overflowFigures } from './errors/overflow-figures.js';
export { isOutage, isUnreadable } from './errors/session-errors.js';
export { type Clock, systemClock, timestamp } from './lib/clock.js';
export { Deadline, startTimer, stepwise, unlessAborted, withinLimit } from './lib/deadline.js';
export { type DiffLine, diffLines } from './lib/diff-lines.js';
export { digest, digestWork, randomHex } from './lib/digest.js';
export { decodeSegment, encodeSegment } from './lib/encode-segment.js';
export { exactText } from './lib/exact-text.js';
export { atOnce, inPieces, isTimeToRest, othersTurn, turnTaker, type Work } from './lib/in-pieces.js';
export { isObject, isPlain, jsonFault, jsonText, mapChildren, parsedJson, sortedJson } from './lib/json.js';
export { jsonObjectSchema, jsonValueSchema } from './lib/json-schemas.js';
export { KeyedMutex } from './lib/keyed-mutex.js';
export { memoize } from './lib/memoize.js';
export { notify } from './lib/notify.js';
export { RecentMap } from './lib/recent-map.js';
export {
  isSqliteMissing,
  type LoadModule,
  loadSqlite,
  type OpenSqlite,
  SqliteDatabase,
  SqliteStatement,
  type SqliteValue,
  type SqliteValues,
  sqliteCode,
} from './lib/sqlite.js';
export {
  errorText,
  escapeTags,
  headOf,
  LINE_BREAK,
  nearNames,
  printable,
  tailOf,
  withoutThoughts,
} from './lib/text.js';
export { warn } from './lib/warn.js';
export { same, wellFormed } from './lib/well-formed.js';
export { type CommandEnd, endIn, withEnd } from './messages/command-end.js';
export { byteLength, describeFile } from './messages/media.js';
export { isNumbered, nativeIndex } from './messages/message.js';
export { Numbering, numbersIn, type SummaryNumbers, withNumbers } from './messages/numbering.js';
export { DistinctCalls, distinctId, fileLine, holdsFile, readableMessage } from './messages/sendable.js';
export { sendableTool } from './messages/sendable-tool.js';
export { describeContent } from './messages/set-aside.js';
export { isOfUser, quotesStrangers, REMINDED, strangersIn, UNCONFIRMED } from './messages/strangers.js';
export { answerFault, refuseNoAnswer } from './model/check-answer.js';
export { schemaFault } from './model/compile-schema.js';
export { FINISH_REASONS, soundUsage } from './model/model.js';
export type { ApprovalDecision, PathRole, ToolReturn } from './model/tool.js';
export { rememberSecrets } from './redaction/known-secrets.js';
export { type Redact, redactJson, redactSecrets, secretRedactor } from './redaction/redact-secrets.js';
export { namesSecret } from './redaction/secret-names.js';
export { contentTermsOf, SearchQuery } from './search/query.js';
export { type Collection, NEIGHBORS, piecesOf, TextScan, termWeights } from './search/scan.js';
export { hasPlainWords, Tokenizer, wordsIn } from './search/tokenizer.js';
export { collectionOf, recordName } from './sessions/collections.js';
export type { DriverFailure } from './sessions/database-attempts.js';
export { decodeSession, sessionDamaged } from './sessions/decode-session.js';
export { prefixesWithin } from './sessions/files/session-files.js';
export type { LogNote } from './sessions/files/workspace-session-log.js';
export { deleteUnlessLeased, findHolder, isSessionHeld } from './sessions/held-sessions.js';
export { itemFrom, itemJson } from './sessions/item-json.js';
export type { ItemChange, ItemHistory } from './sessions/item-log.js';
export { describeHead, type ListedRow, listedSession } from './sessions/listing.js';
export { heartOf, PROCESS_TTL_MS, type ProcessHeart } from './sessions/process-heart.js';
export { titleOf } from './sessions/session.js';
export { type SessionTurn, type TakeTurnOptions, takeTurn } from './sessions/session-turn.js';
export { namedValues, type SqlValues } from './sessions/sql/named-values.js';
export {
  type LoadedRows,
  type RunSql,
  SQL_FORMAT,
  type SqlDialect,
  type SqlResult,
  type SqlRow,
  SqlSession,
  type SqlWrite,
} from './sessions/sql/sql-session.js';
export { checkFormat, keepRefused, operationOf, storeUnavailable } from './sessions/store-rules.js';
export type { StreamLogOptions } from './sessions/stream-log.js';
export type { ErasedUser, UserRecord, UserScope } from './sessions/user-data.js';
export type { StoreOperation } from './sessions/wrappers/observe-store.js';
export { ContextMeter } from './tokens/context-meter.js';
export { countSystem, countUpTo, countWork } from './tokens/count-tokens.js';
export { agentFiles, ISOLATIONS } from './workspace/agent-files.js';
export { allOf, confineWorkspace, keepingKinds } from './workspace/confine-workspace.js';
export { hasEnded, type ProcessIdentity, thisProcess } from './workspace/lock-holder.js';
export {
  type FileIdentity,
  type FileRule,
  type FileUse,
  STORAGE,
  type WorkspaceConfine,
} from './workspace/workspace.js';
