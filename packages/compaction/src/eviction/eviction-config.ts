import * as z from 'zod';
import { countSchema } from '../config/stage-schemas.js';

/** Limits and places for large texts that are written to the workspace. */
export const evictionConfigSchema = z
  .strictObject({
    /**
     * UTF-16 units of text above which a tool's result is evicted; 0: none is. Left out: a result of more than a quarter of
     * the model's window is.
     */
    maxResultChars: z.optional(countSchema),
    /** UTF-16 units of text above which a user's message is evicted; 0: none is. */
    maxUserChars: z._default(countSchema, 200_000),
    /** UTF-16 units of head and of tail that stay. */
    previewChars: z._default(countSchema, 2_000),
    /** Directory in the workspace. */
    evictionPath: z
      .string()
      .min(1)
      .refine(
        (path) => !path.split(/[\\/]/).includes('..') && !path.includes('\0'),
        'must lie in the workspace',
      )
      .default('/large_tool_results'),
    /** Tools whose results stay whole; a name may end in `*`. Tools that say that they are `paged` stay whole by themselves. */
    excludeTools: z.array(z.string().min(1)).default([]),
  })
  .superRefine(({ maxResultChars, maxUserChars, previewChars }, context) => {
    for (const [name, limit] of Object.entries({ maxResultChars, maxUserChars })) {
      if (!limit || previewChars * 2 < limit) continue;
      const message = `head and tail together must be shorter than ${name}`;
      context.addIssue({ code: 'custom', path: ['previewChars'], message });
    }
  });

/** Options of `toolResultEviction`. */
export type EvictionConfig = z.input<typeof evictionConfigSchema>;
export type ResolvedEvictionConfig = z.output<typeof evictionConfigSchema>;
