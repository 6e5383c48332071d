import type { TokenBenchmark } from './tokens.js';
import { contenders, perContender } from './tokens-contenders.js';
import { LOADING_ROUNDS } from './tokens-loading.js';
import { LONG_RUN_ROUNDS } from './tokens-long-runs.js';
import { THROUGHPUT_ROUNDS } from './tokens-throughput.js';

export function reportTokens({ encoding, throughput, loading, longRuns }: TokenBenchmark): void {
  console.log(
    `Counting with ${encoding}, MB/s of unseen text in messages of 2 KB (median of ${THROUGHPUT_ROUNDS})`,
  );
  printTable(throughput, ({ kind, bytes, tokens, megabytesPerSecond, timesFaster }) => [
    kind,
    {
      KB: round(bytes / 1_000, 0),
      ...perContender((contender) => round(megabytesPerSecond[contender], 2)),
      '× gpt-tokenizer': round(timesFaster['gpt-tokenizer'], 1),
      '× js-tiktoken': round(timesFaster['js-tiktoken'], 1),
      'same counts': new Set(Object.values(tokens)).size === 1,
    },
  ]);
  console.log(`Loading it in a fresh process (median of ${LOADING_ROUNDS})`);
  const { milliseconds, megabytes } = loading;
  printTable(contenders, (contender) => [
    contender,
    {
      ms: round(milliseconds[contender], 0),
      'MB resident': round(megabytes[contender], 0),
      'ms / js-tiktoken': round(milliseconds[contender] / milliseconds['js-tiktoken'], 2),
      'MB / js-tiktoken': round(megabytes[contender] / megabytes['js-tiktoken'], 2),
    },
  ]);
  console.log(`@x/compaction on one long run, ms (median of ${LONG_RUN_ROUNDS})`);
  printTable(longRuns, ({ family, milliseconds: { short, long }, growth }) => [
    family,
    { '20,000': round(short, 1), '200,000': round(long, 1), growth: round(growth, 1) },
  ]);
}

function printTable<Item>(items: readonly Item[], rowOf: (item: Item) => [string, object]): void {
  console.table(Object.fromEntries(items.map(rowOf)));
}

function round(value: number, digits: number): number {
  return Number(value.toFixed(digits));
}
