export { type Comparison, compareStrategies } from './compare-strategies.js';

export type { RecordedConversation } from './conversation.js';
export { importConversation } from './import/import-conversation.js';
export { type LogRepair, repairLog } from './import/repair-log.js';

export { type Prices, parsePrices } from './prices.js';

export { ReplayError } from './replay-error.js';

export { replayHtml } from './report/replay-html.js';
export { replayReport } from './report/replay-json.js';
export { replayTable } from './report/replay-table.js';

export { keepTail, maskOutputs, maskThenTail, sendEverything } from './strategies/baselines.js';
export { withCompactor } from './strategies/with-compactor.js';
export type { Strategy } from './strategy.js';
