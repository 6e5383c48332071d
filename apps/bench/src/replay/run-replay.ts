import type { TokenCounter } from '@x/core';
import type { Strategy } from '@x/replay';
import { sendEverything } from '@x/replay';
import type { ReplaySetting } from '@x/replay/internal';
import { type ReplayResult, replayConversation } from '@x/replay/internal';
import { findLongRangeValues, type Probe } from './long-range-values.js';
import type { Recording } from './read-recordings.js';

/** Tokens that system prompt and tool schemas take in every request, whatever the recording holds of them. */
export const OVERHEAD = 10_000;
/** The share of the window from which on strategies reduce. */
export const TRIGGER_SHARE = 0.85;

/** One conversation through every strategy. */
export interface ReplayedConversation {
  readonly recording: Recording;
  /** Some request without any reduction reaches the trigger. */
  readonly reachesTrigger: boolean;
  /** Nothing reduced: what costs are measured against. */
  readonly full: ReplayResult<Probe>;
  readonly byStrategy: Readonly<Record<string, ReplayResult<Probe>>>;
}

/** What every conversation of a run is replayed with. */
export function settingFor(window: number, counter: TokenCounter): ReplaySetting {
  return {
    window,
    trigger: Math.floor(window * TRIGGER_SHARE),
    counter,
    system: fillerOf(OVERHEAD, counter),
    overhead: OVERHEAD,
  };
}

/** Replays recordings through strategies, one after another: every message is counted once for all of them. */
export async function runReplay(
  recordings: Iterable<Recording>,
  strategies: Readonly<Record<string, Strategy>>,
  setting: ReplaySetting,
): Promise<readonly ReplayedConversation[]> {
  const replayed: ReplayedConversation[] = [];
  for (const given of recordings) {
    const { messages, system } = given;
    const probes = [...given.probes, ...findLongRangeValues(messages, setting.counter)];
    const recording = { ...given, probes };
    const input = { messages, references: probes, system };
    const full = await replayConversation(input, sendEverything, setting);
    const byStrategy: Record<string, ReplayResult<Probe>> = {};
    for (const [name, strategy] of Object.entries(strategies)) {
      byStrategy[name] = await replayConversation(input, strategy, setting);
    }
    replayed.push({ recording, reachesTrigger: full.largestRequest >= setting.trigger, full, byStrategy });
  }
  return replayed;
}

/** A text that a system prompt of so many tokens counts as, its framing of 4 included. */
function fillerOf(tokens: number, counter: TokenCounter): string {
  const text = 'a'.padEnd(2 * (tokens - 4) - 1, ' a');
  if (counter.count(text) !== tokens - 4) throw new Error(`${counter.name} does not count " a" as one token`);
  return text;
}
