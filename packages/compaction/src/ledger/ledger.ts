import type { JsonObject } from '@x/core';
import { z } from 'zod';
import type { Mention } from './mentions.js';

const dated = z.object({ text: z.string(), at: z.number() });
const storedSchema = z.object({
  messages: z.number(),
  requests: z.array(dated.extend({ done: z.boolean() })),
  files: z.array(z.object({ path: z.string(), changed: z.boolean(), at: z.number() })),
  commands: z.array(z.object({ command: z.string(), outcome: z.string(), at: z.number() })),
  errors: z.array(dated),
  decisions: z.array(dated),
  /** Token, kind, weight, date: there are hundreds, so they are stored without field names. */
  mentions: z.array(z.tuple([z.string(), z.enum(['path', 'identifier', 'id']), z.number(), z.number()])),
});
type Stored = z.infer<typeof storedSchema>;

/** A name with what its worth is judged by. */
export interface RankedMention extends Mention {
  /** How often it was said, and by whom. */
  readonly weight: number;
  /** When it was last said. */
  readonly at: number;
}

/**
 * What a conversation established, extracted mechanically: facts with their exact names, no prose. Kept as data beside
 * every summary, so that chained compactions build on it. `at` is the running number of a message.
 */
export interface Ledger extends Omit<Stored, 'mentions'> {
  readonly mentions: readonly RankedMention[];
}

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
  const { success, data } = storedSchema.safeParse(value);
  if (!success) return undefined;
  return {
    ...data,
    mentions: data.mentions.map(([token, kind, weight, at]) => ({ token, kind, weight, at })),
  };
}

/** A ledger as data to be stored. */
export function storeLedger(ledger: Ledger): JsonObject {
  const stored: Stored = {
    ...ledger,
    mentions: ledger.mentions.map(({ token, kind, weight, at }) => [token, kind, weight, at]),
  };
  return stored as unknown as JsonObject;
}
