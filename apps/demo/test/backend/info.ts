import type { BackendInfo } from '../../src/server/backend.js';
import { compactionSettings } from '../compaction-settings.js';

/** What backends of these tests say of themselves. */
export const info: BackendInfo = {
  version: '0.0.0',
  model: { id: 'scripted', embedded: false },
  contextWindow: 16_000,
  triggerTokens: 13_600,
  compaction: compactionSettings,
  workspace: '',
  plans: true,
  starters: [],
};
