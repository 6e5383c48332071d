import { type CompactionSettings, createCompactor } from '@x/compaction';
import { type Model, type TokenCounter, textOf } from '@x/core';
import type { Strategy } from '@x/replay';
import { keepTail, maskOutputs, maskThenTail, sendEverything, withCompactor } from '@x/replay';
import { extractiveSummary } from './extractive-summary.js';
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
  ours: ours(),
  'ours-keep-8k': ours({ keep: { tokens: 8_000 } }),
  'ours-summarized': ours({}, extractiveModel),
};

/** Our compactor as it comes, unless the settings say otherwise. */
function ours(
  settings: CompactionSettings = {},
  modelFor: (counter: TokenCounter) => Model | null = () => null,
): Strategy {
  return withCompactor(({ window, counter }) =>
    createCompactor({ model: modelFor(counter), contextWindow: window, counter, ...settings }),
  );
}

/** Tokens of the headings. */
const FRAME = 60;

/** Writes the headings that a summary must have, and below them what the stand-in finds. */
function extractiveModel(counter: TokenCounter): Model {
  return {
    id: 'stand-in',
    async generate({ system = '', messages, maxOutputTokens = 4_000 }) {
      const prompt = messages.map((message) => textOf(message)).join('\n');
      const names = extractiveSummary(prompt, maxOutputTokens - FRAME, counter);
      const text = `## SESSION INTENT\nSee below.\n\n## SUMMARY\n${names}\n\n## ARTIFACTS\nNone.\n\n## NEXT STEPS\nNone.`;
      const inputTokens = counter.count(system) + counter.count(prompt);
      const usage = { inputTokens, outputTokens: counter.count(text) };
      return { content: [{ type: 'text', text }], finishReason: 'stop', usage };
    },
  };
}
