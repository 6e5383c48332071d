import { z } from 'zod';

/** Makes a vector of every text, in the same order. */
export type Embed = (texts: readonly string[]) => Promise<readonly ArrayLike<number>[]>;

export const embeddingSchema = z.strictObject({
  /** Names the model: vectors of another one are made anew. */
  model: z.string().min(1),
  dimensions: z.int().min(1).max(8_192),
  embed: z.custom<Embed>((value) => typeof value === 'function', 'must be a function'),
  /** Texts that are embedded in one go. */
  batchSize: z.int().min(1).max(2_048).default(64),
  /** Told when `embed` fails. The search goes on by words alone. */
  onError: z
    .custom<(error: unknown) => void>((value) => typeof value === 'function', 'must be a function')
    .optional(),
});

/** An embedding function, and what it makes. */
export type EmbeddingConfig = z.input<typeof embeddingSchema>;
export type EmbeddingSettings = z.output<typeof embeddingSchema>;
