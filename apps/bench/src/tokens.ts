import { fileURLToPath } from 'node:url';
import type { TiktokenEncoding } from '@x/compaction/tiktoken';
import { type Count, type PerContender, perContender, prepare } from './tokens-contenders.js';
import { measureLoading, type TokenLoading } from './tokens-loading.js';
import { measureLongRuns, type TokenLongRun } from './tokens-long-runs.js';
import { reportTokens } from './tokens-report.js';
import { measureThroughput, type TokenThroughput } from './tokens-throughput.js';

export interface TokenBenchmark {
  readonly encoding: TiktokenEncoding;
  readonly throughput: readonly TokenThroughput[];
  readonly loading: TokenLoading;
  readonly longRuns: readonly TokenLongRun[];
}

/**
 * Measures exact token counting side by side with js-tiktoken and gpt-tokenizer, in the same run: throughput on text
 * not seen before, loading, and (of ours alone, as the others take minutes) inputs that are quadratic when done naively.
 * Prints tables and returns the figures; takes about half a minute.
 */
export async function benchTokens(encoding: TiktokenEncoding = 'o200k_base'): Promise<TokenBenchmark> {
  const loading = measureLoading(encoding);
  const counts = await prepareAll(encoding);
  const throughput = measureThroughput(counts);
  const longRuns = measureLongRuns(counts['@x/compaction']);
  const result = { encoding, throughput, loading, longRuns };
  reportTokens(result);
  return result;
}

async function prepareAll(encoding: TiktokenEncoding): Promise<PerContender<Count>> {
  const loads = perContender((contender) => prepare(contender, encoding));
  return {
    '@x/compaction': (await loads['@x/compaction'])(),
    'gpt-tokenizer': (await loads['gpt-tokenizer'])(),
    'js-tiktoken': (await loads['js-tiktoken'])(),
  };
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await benchTokens(process.argv[2] as TiktokenEncoding | undefined);
}
