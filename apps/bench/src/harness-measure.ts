import { type ExecFileException, execFile } from 'node:child_process';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { median } from './statistics.js';

export const MARKS = [50, 1_000, 3_000] as const;
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
  /** In what it did other than the conversation asks for, or why there are no figures. */
  readonly differences: readonly string[];
}

interface MeasureOptions {
  /** Temporary files of the contender go here. */
  readonly folder: string;
  readonly stopped: AbortSignal;
}

/** One contender's run in a process of its own. Its failure is one of its `differences`. */
export async function measure(name: string, options: MeasureOptions): Promise<HarnessResult> {
  try {
    return { name, ...(await run(name, options)) };
  } catch (error) {
    options.stopped.throwIfAborted();
    const differences = [reasonOf(error as ExecFileException)];
    return { name, msAt: [], mean: Number.NaN, steps: 0, rssMb: Number.NaN, differences };
  }
}

async function run(name: string, { folder, stopped }: MeasureOptions): Promise<Omit<HarnessResult, 'name'>> {
  const { stdout } = await promisify(execFile)(
    process.execPath,
    [...process.execArgv, CHILD, name, String(STEPS), String(BUDGET_MS)],
    {
      env: { ...process.env, TMPDIR: folder },
      timeout: 3 * BUDGET_MS,
      killSignal: 'SIGKILL',
      signal: stopped,
      maxBuffer: 64 * 1_048_576,
    },
  );
  const { askedAt, rssMb, differences } = JSON.parse(stdout.trim().split('\n').at(-1) ?? '') as {
    readonly askedAt: readonly number[];
    readonly rssMb: number;
    readonly differences: readonly string[];
  };
  const steps = askedAt.length - 1;
  const mean = ((askedAt.at(-1) ?? 0) - (askedAt[0] ?? 0)) / steps;
  return { msAt: MARKS.map((mark) => around(askedAt, mark)), mean, steps, rssMb, differences };
}

function reasonOf({ killed, message, stderr = message }: ExecFileException): string {
  if (stderr.includes('heap out of memory')) return 'it ran out of memory';
  const end = stderr.trim().slice(-400);
  return killed ? `it was killed, for being too slow or too large: ${end}` : `it failed: ${end}`;
}

function around(askedAt: readonly number[], mark: number): number | undefined {
  const times = askedAt.slice(mark - SAMPLE / 2, mark + SAMPLE / 2);
  if (times.length < SAMPLE) return undefined;
  return median(times.slice(1).map((time, index) => time - (times[index] ?? time)));
}
