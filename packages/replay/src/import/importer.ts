import type * as z from 'zod';
import type { ConversationBuilder } from './conversation-builder.js';

/** Reads one format. `entries` are the lines of a JSONL file, or the elements of a JSON array. */
export interface Importer {
  readonly format: string;
  /** Where the format is described. */
  readonly describes: string;
  recognizes(entry: unknown): boolean;
  read(entries: readonly unknown[], builder: ConversationBuilder): void;
}

/** Makes the importer of a format whose entries have one shape, by which it is recognized; others are counted as unread. */
export function importerOf<Entry>({
  entry: schema,
  readEntry,
  ...about
}: Pick<Importer, 'format' | 'describes'> &
  Partial<Pick<Importer, 'recognizes'>> & {
    readonly entry: z.ZodType<Entry>;
    readEntry(entry: Entry, builder: ConversationBuilder, index: number): void;
  }): Importer {
  return {
    recognizes: (value) => schema.safeParse(value).success,
    ...about,
    read(values, builder) {
      for (const [index, value] of values.entries()) {
        const entry = schema.safeParse(value);
        if (entry.success) readEntry(entry.data, builder, index);
        else builder.unread('entry of another shape');
      }
    },
  };
}
