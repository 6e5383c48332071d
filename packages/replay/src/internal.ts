// For the packages of this repository only. Unsupported: any release may change or remove these exports.
export { contextText, holdsWhole } from './context-text.js';
export { formats } from './import/import-conversation.js';
export { pairingViolations } from './pairing-violations.js';
export { relativePrices } from './prices.js';
export { findLongRangeReferences, type LongRangeReference } from './references.js';
export { type ReplayResult, replayConversation } from './replay-conversation.js';
export { figuresOf } from './report/figures.js';
export { textTable } from './report/text-table.js';
export type { ReplaySetting } from './strategy.js';
