import type { ConversationBuilder } from './conversation-builder.js';

/** Reads one format. `entries` are the lines of a JSONL file, or the elements of a JSON array. */
export interface Importer {
  readonly format: string;
  /** Where the format is described. */
  readonly describes: string;
  recognizes(entry: unknown): boolean;
  read(entries: readonly unknown[], builder: ConversationBuilder): void;
}
