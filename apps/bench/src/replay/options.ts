import { resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { parseWith } from '@x/core/internal';
import * as z from 'zod';

const names = z
  .array(z.string())
  .default([])
  .transform((values) => values.flatMap((value) => value.split(',')).filter(Boolean));

const optionsSchema = z
  .strictObject({
    /** A folder of recordings. */
    data: z.string({ error: 'must be a folder of recordings' }),
    /** The model's context window, in tokens. */
    window: z.coerce.number().int().min(12_000).default(64_000),
    /** Replays only the projects for fitting settings. */
    fit: z.boolean().default(false),
    /** Replays only the projects for reporting, to which no setting was fitted. */
    report: z.boolean().default(false),
    strategy: names,
    domain: names,
  })
  .refine(({ fit, report }) => !(fit && report), {
    path: ['report'],
    message: 'and fit are the two halves of the projects; leave both out for all',
  });

export type ReplayOptions = z.output<typeof optionsSchema>;

/**
 * Parses the command line. The folder is relative to the user's directory, which a package manager may have changed.
 *
 * @throws {InvalidInputError} with the invalid options.
 */
export function parseOptions(
  args: readonly string[],
  folder = process.env.INIT_CWD ?? process.cwd(),
): ReplayOptions {
  const { values } = parseArgs({
    args: args.filter((arg) => arg !== '--'),
    options: {
      data: { type: 'string' },
      window: { type: 'string' },
      strategy: { type: 'string', multiple: true },
      domain: { type: 'string', multiple: true },
      fit: { type: 'boolean' },
      report: { type: 'boolean' },
    },
  });
  const options = parseWith(optionsSchema, values, 'replay options');
  return { ...options, data: resolve(folder, options.data) };
}
