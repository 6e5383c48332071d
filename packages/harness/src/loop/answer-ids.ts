import type { AgentState, ContentBlock } from '@x/core';
import { distinctId } from '@x/core/internal';

/** The key of the note that the session's models have used an id again. */
const EXTENSION = 'callIds';

/**
 * The ids of the tool calls of one answer, distinct from those of the whole session: a model that counts its calls again in each answer
 * would be refused by providers, and its results could not be told apart. Ids that no other call has stay as they are.
 */
export class AnswerIds {
  readonly #state: AgentState;
  readonly #messageId: string;
  readonly #taken: Set<string>;
  /** What the first call of an id became: pieces of a stream come before the whole. */
  readonly #first = new Map<string, string>();

  constructor(state: AgentState, messageId: string) {
    this.#state = state;
    this.#messageId = messageId;
    this.#taken = new Set(
      state.context.flatMap(({ content }) =>
        content.flatMap((block) => (block.type === 'tool_use' ? block.id : [])),
      ),
    );
  }

  /** The id of the first call that the model gave this id. */
  of(id: string): string {
    const known = this.#first.get(id);
    if (known !== undefined) return known;
    if (this.#taken.has(id)) this.#state.extensions[EXTENSION] = { repeat: true };
    // Who did it once does it again, also after a compaction took the first of them away.
    if (this.#state.extensions[EXTENSION] !== undefined) this.#taken.add(id);
    const own = distinctId(id, this.#messageId, this.#taken);
    this.#first.set(id, own);
    return own;
  }

  /** The answer with ids of its own. */
  distinct(content: readonly ContentBlock[]): readonly ContentBlock[] {
    const seen = new Set<string>();
    return content.map((block) => {
      if (block.type !== 'tool_use') return block;
      const id = seen.has(block.id) ? distinctId(block.id, this.#messageId, this.#taken) : this.of(block.id);
      seen.add(block.id);
      return id === block.id ? block : { ...block, id };
    });
  }
}
