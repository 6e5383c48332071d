import { contenderNames } from './harness-contenders.js';
import { type HarnessResult, MARKS, measure } from './harness-measure.js';
import { withTemporaryFolder } from './temporary-folder.js';

/**
 * Measures what one step costs in agent frameworks. Each holds the same conversation in a process of its own: one tool call
 * with a result of 1 000 characters a step, and a model that answers at once.
 */
export async function benchHarness(): Promise<void> {
  await withTemporaryFolder(async (folder, stopped) => {
    const results: HarnessResult[] = [];
    for (const name of contenderNames) results.push(await measure(name, { folder, stopped }));
    report(results);
  });
}

function report(results: readonly HarnessResult[]): void {
  console.table(
    results.map(({ name, msAt, mean, steps, rssMb, differences }) => ({
      'one step': differences.length === 0 ? name : `${name} *`,
      ...Object.fromEntries(MARKS.map((mark, index) => [`ms at ${mark}`, rounded(msAt[index])])),
      mean: rounded(mean),
      steps,
      'RSS MB': Number.isNaN(rssMb) ? '–' : Math.round(rssMb),
    })),
  );
  for (const { name, differences } of results) {
    if (differences.length > 0) console.log(`* ${name}: ${differences.join('; ')}`);
  }
}

function rounded(value: number | undefined): number | string {
  return value === undefined || Number.isNaN(value) ? '–' : Number(value.toFixed(3));
}
