import type { Strategy } from '@x/replay';
import { keepTail, maskOutputs, maskThenTail, sendEverything } from '@x/replay';
import { compactorStrategy } from './compactor-strategy.js';
import { langchainStrategy } from './langchain-strategy.js';
import { SUMMARY_SHARE } from './run-replay.js';

/** Every strategy by the name of its column. Another variant is another line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  full: sendEverything,
  'tail-20': keepTail(20),
  'mask-5': maskOutputs(5),
  'mask-then-tail': maskThenTail(5, 20),
  langchain: langchainStrategy({ keepMessages: 20, summaryShare: SUMMARY_SHARE }),
  'langchain-untrimmed': langchainStrategy({
    keepMessages: 20,
    summaryShare: SUMMARY_SHARE,
    trimTokensToSummarize: 1_000_000,
  }),
  ours: compactorStrategy(),
  'ours-keep-8k': compactorStrategy({ keep: { tokens: 8_000 } }),
  'ours-summarized': compactorStrategy({ standIn: true }),
};
