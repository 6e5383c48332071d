import { errorText } from '@x/core/internal';

/**
 * Runs a function for each item in order, and continues if one fails.
 *
 * @throws the error of the item that failed, or an `AggregateError` if several failed.
 */
export async function runEach<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await run(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 1) throw new AggregateError(failures, failures.map(errorText).join('; '));
  if (failures.length > 0) throw failures[0];
}
