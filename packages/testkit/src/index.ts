export { checkTurns, type RunWritersOptions, runWriters } from './chaos/run-writers.js';
export { checkPausedHolder, type TurnEvent, type TurnPlan, writeTurns } from './chaos/write-turns.js';
export { type ChaosModel, chaosModels } from './chaos-models.js';
export { type ChangeAt, commitAt } from './commit-at.js';
export {
  assertAccounted,
  assertCurrent,
  assertPaired,
  assertReport,
  assertUntouched,
  assertWellFormed,
} from './compactor-suite/laws.js';
export { type RandomConversationOptions, randomConversation } from './compactor-suite/random-conversation.js';
export { ReplayModel } from './replay-model.js';
export type {
  ScriptEntry,
  ScriptedAnswer,
  ScriptedMatcher,
  ScriptedReply,
  ScriptedToolCall,
} from './script.js';
export { IncompleteScriptError, UnexpectedModelCallError } from './script-errors.js';
export { ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';
export { type SeverableProxy, severableProxy } from './severable-proxy.js';
