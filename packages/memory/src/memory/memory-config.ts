import * as z from 'zod';
import { consolidationShape } from '../consolidate/consolidation-config.js';
import { flushShape, modelSchema } from '../flush/flush-config.js';
import { maintenanceShape } from '../maintenance/maintenance-config.js';
import { MemoryIndex } from '../memory-index.js';

const { consolidationGapMs, ...passes } = maintenanceShape;

/** Settings that an agent's memory and a `MemoryService` share. */
export const memoryServiceShape = {
  /**
   * Where the index lives: the path of its file, or an index that is open already and stays the caller's. Default
   * `:memory:`, an index that ends with the process and is built from the files when it is first used.
   */
  index: z
    .union([z.string().min(1), z.custom<MemoryIndex>((value) => value instanceof MemoryIndex)])
    .default(':memory:'),
  /** Reads conversations and merges notes. Default: the agent's own; `null`: none, both are done by rule. */
  model: modelSchema.removeDefault().optional(),
  ...flushShape,
  /** Merge notes into MEMORY.md after a flush, at most once in `consolidationGapMs` for each user and agent. */
  consolidate: z.boolean().default(true),
  consolidationGapMs,
  ...consolidationShape,
  /** The passes over the whole workspace; `false` when something else runs them. */
  maintenance: z.union([z.literal(false), z.strictObject(passes)]).prefault({}),
};

export const memoryConfigSchema = z.strictObject({
  ...memoryServiceShape,
  /** Estimated tokens of MEMORY.md in the system prompt; what is in the middle is left out of more. 0: none of it. */
  maxPromptTokens: z.int().min(0).default(4_000),
  /** Bring the tools that search, read and save. `false`: memory is kept and shown, and the model cannot ask for more. */
  tools: z.boolean().default(true),
  /** Characters that one answer of a tool may have. */
  maxOutputChars: z.int().min(1_000).default(20_000),
});

/** Options of `memory`. */
export type MemoryConfig = z.input<typeof memoryConfigSchema>;
export type MemorySettings = z.output<typeof memoryConfigSchema>;
