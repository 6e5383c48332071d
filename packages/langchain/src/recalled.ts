import type { BaseMessage } from '@langchain/core/messages';

/** How many conversations may wait for their next step. */
const CAPACITY = 1_000;

/**
 * Conversations that were reduced inside a model call, where an agent's state cannot be changed, until the next step can:
 * by the id of the last message that was reduced.
 */
export class Recalled {
  readonly #reduced = new Map<string, readonly BaseMessage[]>();

  remember(messages: readonly BaseMessage[], reduced: readonly BaseMessage[]): void {
    const id = messages.at(-1)?.id;
    if (id === undefined) return;
    this.#reduced.set(id, reduced);
    const [oldest] = this.#reduced.keys();
    if (this.#reduced.size > CAPACITY && oldest !== undefined) this.#reduced.delete(oldest);
  }

  /** The conversation with what was reduced of it in its place; the very list when nothing was. */
  apply(messages: readonly BaseMessage[]): readonly BaseMessage[] {
    if (this.#reduced.size === 0) return messages;
    const last = messages.findLastIndex(({ id }) => id !== undefined && this.#reduced.has(id));
    const id = messages[last]?.id;
    const reduced = id === undefined ? undefined : this.#reduced.get(id);
    // A list that holds the summary already is the reduced one itself.
    if (id === undefined || reduced === undefined || !isOlder(messages, reduced)) return messages;
    this.#reduced.delete(id);
    return [...reduced, ...messages.slice(last + 1)];
  }
}

function isOlder(messages: readonly BaseMessage[], reduced: readonly BaseMessage[]): boolean {
  const present = new Set(messages);
  return reduced.some((message) => !present.has(message));
}
