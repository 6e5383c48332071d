export { ReplayModel } from './replay-model.js';
export type {
  ScriptEntry,
  ScriptedAnswer,
  ScriptedToolCall,
} from './script.js';
export { IncompleteScriptError, UnexpectedModelCallError } from './script-errors.js';
export { ScriptedModel, type ScriptedModelOptions } from './scripted-model.js';
