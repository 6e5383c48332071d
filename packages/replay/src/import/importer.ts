import type { ConversationBuilder } from './conversation-builder.js';
import type { Row } from './follow-branch.js';

/** Reads one format. `entries` are the lines of a JSONL file, or the elements of a JSON array. */
export interface Importer {
  readonly format: string;
  /** Where the format is described. */
  readonly describes: string;
  recognizes(entry: unknown): boolean;
  /** @param around What stands beside the list of entries in a JSON object: an id, a title. Empty for lists alone. */
  read(entries: readonly unknown[], builder: ConversationBuilder, around: JsonAround): void;
  /** Of a format whose rows name their parents: where an entry has its parent's id, and what it says of its place. */
  readonly tree?: { readonly parent: string; rowOf(value: unknown): Row | undefined };
}

export type JsonAround = Readonly<Record<string, unknown>>;

/** A schema of any flavor of zod. */
interface EntrySchema<Entry> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: Entry | undefined };
}

/**
 * Makes the importer of a format whose entries have one shape, by which it is recognized. Entries of another shape are counted
 * as unread.
 *
 * @param definition.choose Chooses the entries that count, such as one branch of a tree. Default: all of them.
 */
export function importerOf<Entry>({
  entry: schema,
  choose = (entries) => entries,
  readEntry,
  ...about
}: Pick<Importer, 'format' | 'describes'> &
  Partial<Pick<Importer, 'recognizes' | 'tree'>> & {
    readonly entry: EntrySchema<Entry>;
    choose?(entries: readonly Entry[], builder: ConversationBuilder, around: JsonAround): readonly Entry[];
    readEntry(entry: Entry, builder: ConversationBuilder, index: number): void;
  }): Importer {
  return {
    recognizes: (value) => schema.safeParse(value).success,
    ...about,
    read(values, builder, around) {
      const entries = values.flatMap((value) => {
        const entry = schema.safeParse(value).data;
        if (entry === undefined) builder.unread('entry of another shape');
        return entry ?? [];
      });
      for (const [index, entry] of choose(entries, builder, around).entries())
        readEntry(entry, builder, index);
    },
  };
}
