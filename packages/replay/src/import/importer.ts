import type { ConversationBuilder } from './conversation-builder.js';
import type { Row } from './follow-branch.js';

/** Reads one format. `entries` are the lines of a JSONL file, or the elements of a JSON array. */
export interface Importer {
  readonly format: string;
  /** A description of the format, for error messages. */
  readonly describes: string;
  recognizes(entry: unknown): boolean;
  /** @param around The other fields of a JSON object around the list of entries, such as an id. Empty for plain lists. */
  read(entries: readonly unknown[], builder: ConversationBuilder, around: JsonAround): void;
  /** For formats whose rows name their parents: the field with the parent's id, and the position of an entry. */
  readonly tree?: { readonly parent: string; rowOf(value: unknown): Row | undefined };
}

export type JsonAround = Readonly<Record<string, unknown>>;

/** A schema of any flavor of zod. */
interface EntrySchema<Entry> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: Entry | undefined };
}

/**
 * Makes the importer of a format whose entries have one shape, by which the format is recognized. Entries of another shape are counted as
 * unread.
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
