import { z } from 'zod';

const schema = z.object({
  /** Messages that went into it so far; their running number dates everything below. */
  messages: z.number(),
  requests: z.array(z.object({ text: z.string(), at: z.number(), done: z.boolean() })),
  files: z.array(z.object({ path: z.string(), changed: z.boolean(), at: z.number() })),
  commands: z.array(z.object({ command: z.string(), outcome: z.string(), at: z.number() })),
  errors: z.array(z.object({ text: z.string(), at: z.number() })),
  decisions: z.array(z.object({ text: z.string(), at: z.number() })),
  mentions: z.array(
    z.object({
      token: z.string(),
      kind: z.enum(['path', 'identifier', 'id']),
      weight: z.number(),
      at: z.number(),
    }),
  ),
});

/**
 * What a conversation established, extracted mechanically: facts with their exact names, no prose. Kept as data beside
 * every summary, so that chained compactions build on it.
 */
export type Ledger = z.infer<typeof schema>;

export const emptyLedger: Ledger = {
  messages: 0,
  requests: [],
  files: [],
  commands: [],
  errors: [],
  decisions: [],
  mentions: [],
};

/** A ledger from stored data, or `undefined` when it is none. */
export function readLedger(value: unknown): Ledger | undefined {
  const result = schema.safeParse(value);
  return result.success ? result.data : undefined;
}
