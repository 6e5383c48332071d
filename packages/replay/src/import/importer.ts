import type { ConversationBuilder } from './conversation-builder.js';
import type { Row } from './follow-branch.js';

/** Reads logs of one format. Entries are the lines of a JSONL file, or the elements of a JSON array. */
export interface Importer {
  readonly format: string;
  /** A description of the format, for error messages. */
  readonly describes: string;
  recognizes(entry: unknown): boolean;
  /** @param around The other fields of the JSON object that contains the list of entries, such as an id. Empty for a plain list. */
  read(entries: readonly unknown[], builder: ConversationBuilder, around: JsonAround): void;
  /** For formats whose rows have parent ids: the name of the parent field, and a function that returns an entry's position. */
  readonly tree?: { readonly parent: string; rowOf(value: unknown): Row | undefined };
}

export type JsonAround = Readonly<Record<string, unknown>>;

/** The part of a zod schema that importers use. zod and zod/mini both have it. */
interface EntrySchema<Entry> {
  safeParse(value: unknown): { readonly success: boolean; readonly data?: Entry | undefined };
}

/**
 * Creates an importer for a format whose entries match one schema, by which the format is recognized. Entries that do not match are counted
 * as unread.
 *
 * @param definition.choose Chooses the entries to read, such as one branch of a tree. Default: all entries.
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
        if (entry === undefined) builder.unread('entry of an unknown shape');
        return entry ?? [];
      });
      for (const [index, entry] of choose(entries, builder, around).entries())
        readEntry(entry, builder, index);
    },
  };
}
