import type { BackendInfo } from '../../src/page.js';
import type { Entry } from '../../web/src/state/transcript.js';

/** What backends of these tests say of themselves. */
export const info: BackendInfo = {
  model: { id: 'scripted', embedded: false },
  contextWindow: 16_000,
  triggerTokens: 13_600,
  plans: true,
  starters: [],
};

/** The entries but for the notice that this machine has no sandbox, which only some machines give. */
export const onAnyMachine = (entries: readonly Entry[]): Entry[] =>
  entries.filter((entry) => entry.type !== 'notice' || !entry.notice.message.includes('no sandbox here'));
