import type { TokenCounter } from '@x/core';
import type { Strategy } from '@x/replay';
import { sendEverything } from '@x/replay';
import {
  type LongRangeReference,
  type ReplayResult,
  type ReplaySetting,
  replayConversation,
} from '@x/replay/internal';
import type { Recording } from './read-recordings.js';

/** Tokens that system prompt and tool schemas take in every request, independent of the recording. */
export const OVERHEAD = 10_000;
/** Share of the window at which strategies reduce. */
export const TRIGGER_SHARE = 0.85;

/** Results of one conversation for every strategy. */
export interface ReplayedConversation {
  readonly recording: Recording;
  /** Whether a request without reductions reaches the trigger. */
  readonly reachesTrigger: boolean;
  /** Result without reductions, the baseline for costs. */
  readonly full: ReplayResult<LongRangeReference>;
  readonly byStrategy: Readonly<Record<string, ReplayResult<LongRangeReference>>>;
}

/** Returns the settings with which every conversation of a run is replayed. */
export function settingFor(window: number, counter: TokenCounter): ReplaySetting {
  return {
    window,
    trigger: Math.floor(window * TRIGGER_SHARE),
    counter,
    system: fillerOf(OVERHEAD, counter),
    overhead: OVERHEAD,
  };
}

/** Replays recordings through strategies, one after another, so that each message is counted only once for all strategies. */
export async function runReplay(
  recordings: Iterable<Recording>,
  strategies: Readonly<Record<string, Strategy>>,
  setting: ReplaySetting,
): Promise<readonly ReplayedConversation[]> {
  const replayed: ReplayedConversation[] = [];
  for (const recording of recordings) {
    const { messages, system, probes: references } = recording;
    const input = { messages, references, system };
    const full = await replayConversation(input, sendEverything, setting);
    const byStrategy: Record<string, ReplayResult<LongRangeReference>> = {};
    for (const [name, strategy] of Object.entries(strategies)) {
      byStrategy[name] = await replayConversation(input, strategy, setting);
    }
    replayed.push({ recording, reachesTrigger: full.largestRequest >= setting.trigger, full, byStrategy });
  }
  return replayed;
}

/** Returns a text that, as system prompt, counts as this many tokens, including its framing of 4. */
function fillerOf(tokens: number, counter: TokenCounter): string {
  const text = 'a'.padEnd(2 * (tokens - 4) - 1, ' a');
  if (counter.count(text) !== tokens - 4) throw new Error(`${counter.name} does not count " a" as one token`);
  return text;
}
