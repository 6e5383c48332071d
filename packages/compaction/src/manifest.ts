import type { ManifestEntry, Message } from '@x/core';
import type { Fate } from './reducer.js';

/** Collects what became of every message; of two fates the later one counts. */
export class Manifest {
  readonly #entries = new Map<string, ManifestEntry>();

  add(strategy: string, fates: readonly Fate[]): void {
    for (const { messageId, fate } of fates) this.#entries.set(messageId, { messageId, fate, strategy });
  }

  /** The entries of these messages, in their order; what reducers made and unmade in between has none. */
  entriesOf(messages: readonly Message[]): readonly ManifestEntry[] {
    return messages.flatMap((message) => this.#entries.get(message.id) ?? []);
  }
}
