import { z } from 'zod';
import { MemoryIndex } from '../memory-index.js';

export const memoryConfigSchema = z.strictObject({
  /**
   * Where the index lives: the path of its file, or an index that is open already and stays the caller's. Default
   * `:memory:`, an index that ends with the process and is built from the files when it is first used.
   */
  index: z
    .union([z.string().min(1), z.custom<MemoryIndex>((value) => value instanceof MemoryIndex)])
    .default(':memory:'),
  /** Estimated tokens of MEMORY.md in the system prompt; what is in the middle is left out of more. 0: none of it. */
  maxPromptTokens: z.int().min(0).default(4_000),
  /** Characters that one answer of a tool may have. */
  maxOutputChars: z.int().min(1_000).default(20_000),
});

export type MemoryConfig = z.input<typeof memoryConfigSchema>;
export type MemorySettings = z.output<typeof memoryConfigSchema>;
