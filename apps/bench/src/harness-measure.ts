import { fileURLToPath } from 'node:url';
import { runProcess } from './run-process.js';
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
  /** The program of the Node that it runs on. */
  readonly node: string;
  /** For what it writes, and where what it needs may be installed. */
  readonly folder: string;
  readonly stopped: AbortSignal;
}

/**
 * One contender's run in a process of its own.
 *
 * @throws the reason of `stopped`; a contender's own failure is one of its `differences`.
 */
export async function measure(
  library: string,
  name: string,
  { node, folder, stopped }: MeasureOptions,
): Promise<HarnessResult> {
  const { code, output, errors } = await runProcess(
    node,
    [...process.execArgv, CHILD, library, name, String(STEPS), String(BUDGET_MS), folder],
    {
      env: { ...process.env, TMPDIR: folder, MASTRA_TELEMETRY_DISABLED: '1' },
      timeoutMs: 3 * BUDGET_MS,
      stopped,
    },
  );
  const line = output.trim().split('\n').at(-1) ?? '';
  if (code !== 0 || !line.startsWith('{')) {
    const failure = { name, msAt: [], mean: Number.NaN, steps: 0, rssMb: Number.NaN };
    return { ...failure, differences: [reasonOf(code, errors)] };
  }
  const { askedAt, rssMb, differences } = JSON.parse(line) as {
    readonly askedAt: readonly number[];
    readonly rssMb: number;
    readonly differences: readonly string[];
  };
  const steps = askedAt.length - 1;
  const mean = ((askedAt.at(-1) ?? 0) - (askedAt[0] ?? 0)) / steps;
  return { name, msAt: MARKS.map((mark) => around(askedAt, mark)), mean, steps, rssMb, differences };
}

function reasonOf(code: number | null, errors: string): string {
  if (errors.includes('heap out of memory')) return 'it ran out of memory';
  const end = errors.trim().slice(-400);
  return code === null ? `it was killed, for being too slow or too large: ${end}` : `it failed: ${end}`;
}

function around(askedAt: readonly number[], mark: number): number | undefined {
  const times = askedAt.slice(mark - SAMPLE / 2, mark + SAMPLE / 2);
  if (times.length < SAMPLE) return undefined;
  return median(times.slice(1).map((time, index) => time - (times[index] ?? time)));
}
