import * as z from 'zod/mini';

/** A count or a size; 0 turns the feature off. */
export const countSchema = z.int().check(z.minimum(0));

/** Returns how to write a percentage as a share. A number above 100 is probably not a percentage. */
export function asShare(input: unknown): string {
  const percent = Number(input) > 100 ? 85 : Number(input);
  return `write ${percent / 100} for ${percent} %`;
}

/** A share of a whole, from 0 to 1. */
export const shareSchema = z
  .number()
  .check(
    z.minimum(0),
    z.maximum(1, { error: ({ input }) => `must be a share between 0 and 1: ${asShare(input)}` }),
  );

/** A text that is not empty after trimming. */
export const wordsSchema = z.string().check(z.trim(), z.minLength(1));
/** A text that is not empty. White space counts. */
export const textSchema = z.string().check(z.minLength(1));
export const namesSchema = z.array(textSchema);
export const positiveSchema = z.int().check(z.minimum(1));
