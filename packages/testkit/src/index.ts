export { checkTurns } from './chaos/check-turns.js';
export { type RunWritersOptions, runWriters } from './chaos/run-writers.js';
export { type AcknowledgedTurn, type TurnPlan, writeTurns } from './chaos/write-turns.js';
export type { CompactorSuiteOptions, CompactorSuiteOptOut } from './compactor-suite/compactor-suite.js';
export { type RandomConversationOptions, randomConversation } from './compactor-suite/random-conversation.js';
export { compactorSuite } from './compactor-suite.js';
export { IncompleteScriptError } from './incomplete-script-error.js';
export { ReplayModel } from './replay-model.js';
export type {
  ScriptEntry,
  ScriptedAnswer,
  ScriptedMatcher,
  ScriptedReply,
  ScriptedToolCall,
} from './script.js';
export { ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';
export { sessionStoreSuite } from './session-store-suite.js';
export { type SeverableProxy, severableProxy } from './severable-proxy.js';
export type {
  SessionStoreSuiteOptions,
  StoreSuiteCrashes,
  StoreSuiteExpiry,
  StoreSuiteFaults,
  StoreSuiteOptOut,
  WriteOlderFormat,
} from './store-suite/store-suite.js';
export { UnexpectedModelCallError } from './unexpected-model-call-error.js';
export type { WorkspaceSuiteOptions } from './workspace-suite/workspace-suite.js';
export { workspaceSuite } from './workspace-suite.js';
