import type { Comparison } from '../compare-strategies.js';
import type { RecordedUsage } from '../conversation.js';
import { figuresOf } from './figures.js';

/** Comparisons as plain data, as `x replay --json` prints them. */
export type ReplayReport = ReturnType<typeof replayReport>;

/** What the provider billed for the recorded calls. */
export type RecordedBill = NonNullable<ReturnType<typeof recordedBill>>;

/** Converts comparisons to plain data. */
export function replayReport(comparisons: readonly Comparison[]) {
  const first = comparisons[0];
  return {
    counter: first?.setting.counter.name ?? '',
    total: figuresOf(comparisons),
    conversations: comparisons.map((comparison) => {
      const { conversation, setting, strategies } = comparison;
      return {
        id: conversation.id,
        format: conversation.format,
        model: conversation.model,
        messages: conversation.messages.length,
        /** The context window of the replay, in tokens. */
        window: setting.window,
        systemTokens: setting.overhead,
        unread: conversation.unread,
        figures: figuresOf([comparison]),
        /** `undefined` if the log has no usage. */
        recorded: recordedBill(comparison),
        /** By strategy, the names that it had lost when a later call used them. */
        lost: Object.fromEntries(
          Object.entries(strategies).map(([name, { references }]) => [
            name,
            [...new Set(references.filter(({ retained }) => !retained).map(({ token }) => token))],
          ]),
        ),
      };
    }),
  };
}

function recordedBill({ conversation: { usage, compactions } }: Comparison) {
  if (usage.length === 0) return undefined;
  const sum = (field: keyof RecordedUsage) => usage.reduce((total, each) => total + each[field], 0);
  return {
    calls: usage.length,
    inputTokens: sum('inputTokens'),
    cachedInputTokens: sum('cachedInputTokens'),
    cacheWriteTokens: sum('cacheWriteTokens'),
    outputTokens: sum('outputTokens'),
    compactions: compactions.length,
  };
}
