import type { Model } from '@x/core';
import * as z from 'zod';
import { clockSchema, modelSchema, timeZoneSchema, workspaceSchema } from '../flush/flush-config.js';

export const consolidationShape = {
  /** Estimated tokens of MEMORY.md, 4 000 being about 16 000 characters. Facts are not added beyond it. */
  maxMemoryTokens: z.int().min(100).default(4_000),
  /** The newest versions of MEMORY.md that are kept, beside one a day for a month and those with other words of a person. */
  keepVersions: z.int().min(1).default(10),
};

export const consolidatorSchema = z.strictObject({
  workspace: workspaceSchema,
  /** Or a function that gives it when it is needed. */
  model: z.union([
    modelSchema,
    z.custom<() => Model | null>((value) => typeof value === 'function', 'must be a model'),
  ]),
  ...consolidationShape,
  /** Estimated tokens of notes that are merged at once; more are merged in several rounds. */
  maxNotesTokens: z.int().min(1).default(20_000),
  timeZone: timeZoneSchema,
  clock: clockSchema,
});

/** Options of a `MemoryConsolidator`. */
export type MemoryConsolidatorOptions = z.input<typeof consolidatorSchema>;
export type ConsolidationSettings = z.output<typeof consolidatorSchema>;
