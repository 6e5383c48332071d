import type { BackendInfo } from '../../src/server/backend.js';

/** What backends of these tests say of themselves. */
export const info: BackendInfo = {
  version: '0.0.0',
  model: { id: 'scripted', embedded: false },
  contextWindow: 16_000,
  triggerTokens: 13_600,
  strategy: 'auto',
  compaction: {
    budgetPercent: 0.8,
    triggerMessages: 0,
    triggerTokens: 0,
    keepMessages: 20,
    keepTokens: 6_000,
    headroom: 0.1,
    summaryHeadroom: 0.4,
    keepRecentToolOutputs: 5,
    strategy: 'auto',
  },
  workspace: '',
  abilities: { undo: true, decide: true, plan: true, memory: true },
  starters: [],
};
