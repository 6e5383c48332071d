import { contendersOn } from './harness-contenders.js';
import { type HarnessResult, MARKS, measure } from './harness-measure.js';
import { installNode22 } from './node22.js';
import { withTemporaryFolder } from './temporary-folder.js';

export interface HarnessBenchOptions {
  /** Also on Node 22, which is installed for it, with AI SDK 7 and Mastra. Default false. */
  readonly withNode22?: boolean | undefined;
}

interface Row extends HarnessResult {
  /** The version of Node that it ran on. */
  readonly node: string;
}

/**
 * What one step costs in agent frameworks: the same conversation, one tool call of 1 000 characters a step, a model that
 * answers at once; each in a process of its own, one after the other.
 *
 * @throws {Error} when Node 22 is wanted and cannot be installed; nothing has been measured then.
 */
export async function benchHarness({
  withNode22 = false,
}: HarnessBenchOptions = {}): Promise<readonly Row[]> {
  const rows = await withTemporaryFolder(async (folder, stopped) => {
    const node22 = withNode22 ? await installNode22(folder, stopped) : undefined;
    if (node22 !== undefined) console.log(`Node ${node22.version} with ${node22.packages}\n`);
    const measured: Row[] = [];
    const measureAll = async (names: readonly string[], node: string, version: string) => {
      for (const name of names)
        measured.push({ ...(await measure(name, { node, folder, stopped })), node: version });
    };
    await measureAll(contendersOn('here'), process.execPath, process.versions.node);
    if (node22 !== undefined) await measureAll(contendersOn('node22'), node22.node, node22.version);
    return measured;
  });
  report(rows);
  return rows;
}

function report(rows: readonly Row[]): void {
  console.table(
    rows.map(({ name, node, msAt, mean, steps, rssMb, differences }) => ({
      'one step': differences.length === 0 ? name : `${name} *`,
      Node: Number.parseInt(node, 10),
      ...Object.fromEntries(MARKS.map((mark, index) => [`ms at ${mark}`, rounded(msAt[index])])),
      mean: rounded(mean),
      steps,
      'RSS MB': Number.isNaN(rssMb) ? '–' : Math.round(rssMb),
    })),
  );
  for (const { name, node, differences } of rows) {
    if (differences.length > 0) console.log(`* ${name}, on Node ${node}: ${differences.join('; ')}`);
  }
}

function rounded(value: number | undefined): number | string {
  return value === undefined || Number.isNaN(value) ? '–' : Number(value.toFixed(3));
}
