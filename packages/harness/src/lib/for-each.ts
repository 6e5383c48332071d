import { errorText } from '@x/core/internal';

/**
 * Does something with one after the other, whatever becomes of those before.
 *
 * @throws the error of the one that failed; an `AggregateError` of several.
 */
export async function forEach<Item>(
  items: readonly Item[],
  run: (item: Item) => Promise<unknown>,
): Promise<void> {
  const failures: unknown[] = [];
  for (const item of items) await run(item).catch((error: unknown) => failures.push(error));
  if (failures.length > 1) throw new AggregateError(failures, failures.map(errorText).join('; '));
  if (failures.length > 0) throw failures[0];
}
