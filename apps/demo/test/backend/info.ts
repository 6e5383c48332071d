import type { BackendInfo } from '../../src/page.js';

/** What backends of these tests say of themselves. */
export const info: BackendInfo = {
  model: { id: 'scripted', embedded: false },
  contextWindow: 16_000,
  triggerTokens: 13_600,
};
