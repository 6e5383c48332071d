import type { TokenCounter } from '@x/core';
import { type Comparison, compareStrategies, replayTable, type Strategy } from '@x/replay';
import type { Recording } from './read-recordings.js';

/** A recording with the results of every strategy. */
export interface ReplayedRecording {
  readonly domain: string;
  readonly comparison: Comparison;
}

/** Replays recordings through strategies. */
export async function replayRecordings(
  recordings: readonly Recording[],
  strategies: Readonly<Record<string, Strategy>>,
  options: { readonly window: number; readonly counter: TokenCounter },
): Promise<readonly ReplayedRecording[]> {
  const replayed: ReplayedRecording[] = [];
  for (const { domain, conversation } of recordings) {
    replayed.push({ domain, comparison: await compareStrategies(conversation, strategies, options) });
  }
  return replayed;
}

/** Renders a table per domain and one of all recordings that reach the trigger, and what must be 0. */
export function reportReplay(replayed: readonly ReplayedRecording[]): string {
  const reaching = replayed.filter(
    ({ comparison: { everything, setting } }) => everything.largestRequest >= setting.trigger,
  );
  const section = (title: string, group: readonly ReplayedRecording[]) =>
    `${title}: ${group.length} conversations\n${replayTable(group.map(({ comparison }) => comparison))}`;
  const domains = [...new Set(reaching.map(({ domain }) => domain))];
  const results = replayed.flatMap(({ comparison }) => Object.values(comparison.strategies));
  const sum = (key: 'pairingViolations' | 'unaccounted') =>
    results.reduce((total, result) => total + result[key], 0);
  return [
    ...domains.map((domain) =>
      section(
        domain,
        reaching.filter((each) => each.domain === domain),
      ),
    ),
    section('All that reach the trigger', reaching),
    section('All', replayed),
    `Calls or results without their counterpart: ${sum('pairingViolations')}`,
    `Changes that no manifest accounts for: ${sum('unaccounted')}`,
  ].join('\n\n');
}
