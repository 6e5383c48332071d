import { tiktokenCounter } from '@x/compaction/tiktoken';
import { type Comparison, compareStrategies, replayTable, type Strategy } from '@x/replay';
import { compactorOf, strategies as compared } from '../../cli/src/commands/replay/strategies.js';
import { type Recording, readRecordings } from './read-recordings.js';

/** The strategies of `x replay`, and variants of ours, by the name of their row. To add a variant, add a line. */
export const strategies: Readonly<Record<string, Strategy>> = {
  ...compared,
  'ours-keep-8k': compactorOf({ keep: { tokens: 8_000 } }),
};

/** Tokens that are reserved for the system prompt and the tools. A window must be at least this large. */
const MIN_WINDOW = 12_000;

/**
 * Prints the share of names that each strategy of `x replay` keeps on recorded conversations, and the cost.
 *
 * @param options `data`: a folder of recordings. `window`: the model's context window in tokens, default 64 000.
 */
export async function benchReplay({
  data,
  window = '64000',
}: {
  readonly data?: string | undefined;
  readonly window?: string | undefined;
}): Promise<void> {
  if (data === undefined) return console.log('Skipped: pass --data DIR.');
  if (!(Number(window) >= MIN_WINDOW)) throw new RangeError(`--window must be at least ${MIN_WINDOW}.`);
  console.log(await replayRecordings(readRecordings(data), Number(window)));
}

/**
 * Replays recordings. Returns a table per domain, tables of the recordings that reach the trigger and of all, and counts of errors, which
 * must be 0.
 */
export async function replayRecordings(recordings: readonly Recording[], window: number): Promise<string> {
  const replayed: { readonly domain: string; readonly comparison: Comparison }[] = [];
  const options = { window, counter: tiktokenCounter() };
  for (const { domain, conversation } of recordings)
    replayed.push({ domain, comparison: await compareStrategies(conversation, strategies, options) });
  const reaching = replayed.filter(
    ({ comparison: { everything, setting } }) => everything.largestRequest >= setting.trigger,
  );
  const section = (title: string, group: typeof replayed) =>
    `${title}: ${group.length} conversations\n${replayTable(group.map(({ comparison }) => comparison))}`;
  const results = replayed.flatMap(({ comparison }) => Object.values(comparison.strategies));
  const sum = (key: 'pairingViolations' | 'unaccounted') =>
    results.reduce((total, result) => total + result[key], 0);
  return [
    ...[...new Set(reaching.map(({ domain }) => domain))].map((name) =>
      section(
        name,
        reaching.filter(({ domain }) => domain === name),
      ),
    ),
    section('All that reach the trigger', reaching),
    section('All', replayed),
    `Calls or results without their counterpart: ${sum('pairingViolations')}`,
    `Changes that no manifest accounts for: ${sum('unaccounted')}`,
  ].join('\n\n');
}
