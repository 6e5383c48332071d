import type { JsonObject } from '@x/core';
import { z } from 'zod';
import type { Mention } from './mentions.js';

const dated = z.object({ text: z.string(), at: z.number() });
const storedSchema = z.object({
  messages: z.number(),
  requests: z.array(dated.extend({ done: z.boolean() })),
  /** How the model last ended a turn. */
  closing: z.string().optional(),
  files: z.array(z.object({ path: z.string(), changed: z.boolean(), at: z.number() })),
  commands: z.array(z.object({ command: z.string(), outcome: z.string(), at: z.number() })),
  errors: z.array(dated),
  decisions: z.array(dated),
  /** Token, kind, weight, date, index of the file or -1: there are hundreds, so they have no field names. */
  mentions: z.array(
    z.tuple([z.string(), z.enum(['path', 'identifier', 'id']), z.number(), z.number(), z.number()]),
  ),
});
type Stored = z.infer<typeof storedSchema>;

/** A name with what its worth is judged by. */
export interface RankedMention extends Mention {
  /** How often it was said, and by whom. */
  readonly weight: number;
  /** When it was last said. */
  readonly at: number;
  /** The file that it was last seen in. */
  readonly file?: string | undefined;
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
  const mentions = data.mentions.map(
    ([token, kind, weight, at, file]): RankedMention => ({
      token,
      kind,
      weight,
      at,
      file: data.files[file]?.path,
    }),
  );
  return { ...data, mentions };
}

/** A ledger as data to be stored. */
export function storeLedger(ledger: Ledger): JsonObject {
  const index = new Map(ledger.files.map(({ path }, position) => [path, position]));
  const stored: Stored = {
    ...ledger,
    mentions: ledger.mentions.map(({ token, kind, weight, at, file }) => [
      token,
      kind,
      weight,
      at,
      file === undefined ? -1 : (index.get(file) ?? -1),
    ]),
  };
  return stored as unknown as JsonObject;
}
