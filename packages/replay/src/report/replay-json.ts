import type { Comparison } from '../compare-strategies.js';
import type { RecordedUsage } from '../conversation.js';
import { type Figures, figuresOf } from './figures.js';

/** What the program prints for other programs. */
export interface ReplayReport {
  readonly window: number;
  readonly counter: string;
  readonly total: readonly Figures[];
  readonly conversations: readonly {
    readonly id?: string | undefined;
    readonly format: string;
    readonly model?: string | undefined;
    readonly messages: number;
    readonly systemTokens: number;
    readonly unread: Readonly<Record<string, number>>;
    readonly figures: readonly Figures[];
    /** What the provider billed in the recording, where the log says so. */
    readonly recorded?: RecordedBill | undefined;
    /** Names that a later call used and a strategy had lost, by strategy. */
    readonly lost: Readonly<Record<string, readonly string[]>>;
  }[];
}

export interface RecordedBill extends Omit<RecordedUsage, 'index'> {
  readonly calls: number;
  readonly compactions: number;
}

/** Comparisons as data. */
export function replayReport(comparisons: readonly Comparison[]): ReplayReport {
  const first = comparisons[0];
  return {
    window: first?.setting.window ?? 0,
    counter: first?.setting.counter.name ?? '',
    total: figuresOf(comparisons),
    conversations: comparisons.map((comparison) => ({
      id: comparison.conversation.id,
      format: comparison.conversation.format,
      model: comparison.conversation.model,
      messages: comparison.conversation.messages.length,
      systemTokens: comparison.setting.overhead,
      unread: comparison.conversation.unread,
      figures: figuresOf([comparison]),
      recorded: recordedBill(comparison),
      lost: Object.fromEntries(
        Object.entries(comparison.strategies).map(([name, { references }]) => [
          name,
          [...new Set(references.filter(({ retained }) => !retained).map(({ token }) => token))],
        ]),
      ),
    })),
  };
}

function recordedBill({ conversation: { usage, compactions } }: Comparison): RecordedBill | undefined {
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
