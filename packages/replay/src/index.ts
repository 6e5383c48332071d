export { type CompareOptions, type Comparison, compareStrategies } from './compare-strategies.js';
export { contextText, holdsWhole } from './context-text.js';
export type { RecordedCompaction, RecordedConversation, RecordedUsage } from './conversation.js';
export { formats, importConversation } from './import/import-conversation.js';
export { pairingViolations } from './pairing-violations.js';
export { type Prices, parsePrices, relativePrices } from './prices.js';
export {
  findLongRangeReferences,
  type LongRangeReference,
  type ReferenceOptions,
} from './references.js';
export {
  type ReferenceResult,
  type ReplayedCall,
  type ReplayInput,
  type ReplayResult,
  replayConversation,
} from './replay-conversation.js';
export { ReplayError, type ReplayErrorCode } from './replay-error.js';
export { type Figures, figuresOf } from './report/figures.js';
export { type HtmlOptions, replayHtml } from './report/replay-html.js';
export { type RecordedBill, type ReplayReport, replayReport } from './report/replay-json.js';
export { replayTable } from './report/replay-table.js';
export { textTable } from './report/text-table.js';
export { keepTail, maskOutputs, maskThenTail, sendEverything } from './strategies/baselines.js';
export { withCompactor } from './strategies/with-compactor.js';
export type { Reduce, Reduced, ReplaySetting, Strategy } from './strategy.js';
