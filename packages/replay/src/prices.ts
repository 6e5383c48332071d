import { parseWith } from '@x/core/internal';
import * as z from 'zod';

const price = z.number().min(0);

const schema = z.pipe(
  z.strictObject({
    /** Input that is neither read from nor written to a cache. */
    input: price,
    cachedInput: price.optional(),
    cacheWrite: price.optional(),
    output: price.default(0),
  }),
  z.transform(({ input, cachedInput = input * 0.1, cacheWrite = input * 1.25, output }) => {
    return { input, cachedInput, cacheWrite, output };
  }),
);

/** Prices of a million tokens, in any one currency. */
export type Prices = Readonly<z.output<typeof schema>>;

/**
 * Checks a price table.
 *
 * @param value `{input, cachedInput?, cacheWrite?, output?}` for a million tokens. Without `cachedInput` a tenth of `input`,
 * without `cacheWrite` 1.25 times, as providers with prompt caches have it.
 * @throws {InvalidInputError} with the path of a bad field.
 */
export function parsePrices(value: unknown): Prices {
  return parseWith(schema, value, 'prices');
}

/** Prices of input only, relative to an uncached token, to compare strategies without known prices. */
export const relativePrices: Prices = { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 0 };
