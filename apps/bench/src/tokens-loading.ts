import { execFileSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import type { TiktokenEncoding } from '@x/compaction/tiktoken';
import { median } from './statistics.js';
import { type Contender, contenders, type PerContender, perContender } from './tokens-contenders.js';

/** What it takes to load an encoding and count a first word. */
export interface TokenLoading {
  readonly milliseconds: PerContender;
  /** Growth of the resident set, after garbage collection. */
  readonly megabytes: PerContender;
}

export const LOADING_ROUNDS = 7;

/** Each contender in fresh processes, in turns; medians. */
export function measureLoading(encoding: TiktokenEncoding): TokenLoading {
  const samples = perContender((): Sample[] => []);
  for (let round = 0; round < LOADING_ROUNDS; round++) {
    for (const contender of contenders) samples[contender].push(loadOnce(contender, encoding));
  }
  return {
    milliseconds: perContender((contender) =>
      median(samples[contender].map((sample) => sample.milliseconds)),
    ),
    megabytes: perContender((contender) => median(samples[contender].map((sample) => sample.megabytes))),
  };
}

interface Sample {
  readonly milliseconds: number;
  readonly megabytes: number;
}

function loadOnce(contender: Contender, encoding: TiktokenEncoding): Sample {
  const script = fileURLToPath(new URL('./tokens-load.ts', import.meta.url));
  const flags = ['--conditions=@x/source', '--expose-gc', '--import', 'tsx'];
  const output = execFileSync(process.execPath, [...flags, script, contender, encoding], {
    encoding: 'utf8',
  });
  return JSON.parse(output) as Sample;
}
