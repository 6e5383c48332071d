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
    /** A folder of recordings; without one, synthetic conversations are replayed. */
    data: z.string().optional(),
    /** The model's context window, in tokens. */
    window: z.coerce.number().int().min(12_000).default(64_000),
    /** Only the projects to fit settings on. */
    fit: z.boolean().default(false),
    /** Only the projects to report on, which no setting was fitted to. */
    report: z.boolean().default(false),
    strategy: names,
    domain: names,
    /** A module whose default export maps names to more strategies. */
    with: z.string().optional(),
    /** Where to write everything as JSON. */
    json: z.string().optional(),
  })
  .refine(({ fit, report }) => !(fit && report), {
    path: ['report'],
    message: 'and fit are the two halves of the projects; leave both out for all',
  });

export type ReplayOptions = z.output<typeof optionsSchema>;

/**
 * The options of a command line. Paths are meant from where the user stands, which a package manager may have left.
 *
 * @throws {InvalidInputError} naming what is wrong.
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
      with: { type: 'string' },
      fit: { type: 'boolean' },
      report: { type: 'boolean' },
      json: { type: 'string' },
    },
  });
  const options = parseWith(optionsSchema, values, 'replay options');
  const paths = (['data', 'with', 'json'] as const).flatMap((key) => {
    const path = options[key];
    return path === undefined ? [] : [[key, resolve(folder, path)] as const];
  });
  return { ...options, ...Object.fromEntries(paths) };
}
