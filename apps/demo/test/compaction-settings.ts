import type { BackendInfo } from '../src/server/backend.js';

/** What backends of tests say of their compaction. */
export const compactionSettings: BackendInfo['compaction'] = {
  budgetPercent: 0.8,
  triggerMessages: 0,
  triggerTokens: 0,
  keepMessages: 20,
  keepTokens: 6_000,
  headroom: 0.1,
  summaryHeadroom: 0.4,
  keepRecentToolOutputs: 5,
  strategy: 'auto',
};
