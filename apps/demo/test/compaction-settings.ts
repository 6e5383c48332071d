import type { BackendInfo } from '../src/server/backend.js';

/** What backends of tests say of their compaction. */
export const compactionSettings: BackendInfo['compaction'] = {
  trigger: 0.8,
  target: 0.6,
  keep: 0.2,
  users: 0.15,
  record: 0.25,
};
