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

/** Prices per million tokens, all in the same currency. */
export type Prices = Readonly<z.output<typeof schema>>;

/**
 * Checks a price table.
 *
 * @param value Prices per million tokens: `{input, cachedInput?, cacheWrite?, output?}`. Like common prompt caches, `cachedInput` defaults
 * to 0.1 × `input`, and `cacheWrite` to 1.25 × `input`. `output` defaults to 0.
 * @throws {InvalidInputError} with the path of an invalid field.
 */
export function parsePrices(value: unknown): Prices {
  return parseWith(schema, value, 'prices');
}

/** Prices relative to that of uncached input, for comparisons without known prices. Output costs nothing. */
export const relativePrices: Prices = { input: 1, cachedInput: 0.1, cacheWrite: 1.25, output: 0 };
