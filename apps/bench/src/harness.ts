import { spawnSync } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { CONTENDERS } from './harness-contenders.js';
import { median } from './statistics.js';

const MARKS = [50, 1_000, 3_000] as const;
/** Steps around each mark whose median counts. */
const SAMPLE = 40;
const STEPS = MARKS[2] + SAMPLE / 2 + 1;
/** What a contender that slows down is given; later marks are then left out. */
const BUDGET_MS = 60_000;
const CHILD = fileURLToPath(new URL('./harness-child.ts', import.meta.url));

export interface HarnessResult {
  readonly name: string;
  /** Milliseconds of the step at each of 50, 1 000 and 3 000, median around it; `undefined` where it was not reached. */
  readonly msAt: readonly (number | undefined)[];
  /** Milliseconds a step over the whole run, compactions included. */
  readonly mean: number;
  readonly steps: number;
  readonly rssMb: number;
}

/**
 * What one step costs in agent frameworks: the same conversation, one tool call of 1 000 characters a step, a model that
 * answers at once; each in a process of its own, one after the other. AI SDK 7 and Mastra need Node 22 and are left out.
 */
export async function benchHarness(): Promise<readonly HarnessResult[]> {
  const results = CONTENDERS.map(([library, name]) => measure(library, name));
  console.table(
    results.map(({ name, msAt, mean, steps, rssMb }) => ({
      'one step': name,
      ...Object.fromEntries(MARKS.map((mark, index) => [`ms at ${mark}`, rounded(msAt[index])])),
      mean: rounded(mean),
      steps,
      'RSS MB': Math.round(rssMb),
    })),
  );
  return results;
}

function measure(library: string, name: string): HarnessResult {
  const child = spawnSync(
    process.execPath,
    [...process.execArgv, CHILD, library, name, String(STEPS), String(BUDGET_MS)],
    { encoding: 'utf8', maxBuffer: 1 << 28, timeout: 3 * BUDGET_MS, killSignal: 'SIGKILL' },
  );
  const line = child.stdout.trim().split('\n').at(-1) ?? '';
  if (child.status !== 0 || !line.startsWith('{')) {
    const reason = child.stderr.includes('heap out of memory')
      ? 'ran out of memory'
      : `failed: ${child.stderr.slice(-400)}`;
    console.error(`${name} ${reason}`);
    return { name, msAt: [], mean: Number.NaN, steps: 0, rssMb: Number.NaN };
  }
  const { askedAt, rssMb } = JSON.parse(line) as {
    readonly askedAt: readonly number[];
    readonly rssMb: number;
  };
  const steps = askedAt.length - 1;
  const mean = ((askedAt.at(-1) ?? 0) - (askedAt[0] ?? 0)) / steps;
  return { name, msAt: MARKS.map((mark) => around(askedAt, mark)), mean, steps, rssMb };
}

function around(askedAt: readonly number[], mark: number): number | undefined {
  const times = askedAt.slice(mark - SAMPLE / 2, mark + SAMPLE / 2);
  if (times.length < SAMPLE) return undefined;
  return median(times.slice(1).map((time, index) => time - (times[index] ?? time)));
}

function rounded(value: number | undefined): number | string {
  return value === undefined || Number.isNaN(value) ? '–' : Number(value.toFixed(3));
}
