import type { AgentState, ContentBlock, Message } from '@x/core';
import { distinctId } from '@x/core/internal';

/** State extension that records that a model of this session has repeated a call id. */
const EXTENSION = 'callIds';

/**
 * Makes the ids of tool calls unique within the session. Some models restart their numbering in each answer, and providers would reject
 * duplicate ids. Unique ids stay unchanged.
 */
export class AnswerIds {
  readonly #state: AgentState;
  readonly #taken = new Map<string, number>();
  /** New id of the first call with each id. Chunks of a stream arrive before the whole call. */
  readonly #first = new Map<string, string>();
  #messageId = '';

  constructor(state: AgentState) {
    this.#state = state;
    for (const message of state.context) this.take(message);
  }

  /** Notes the ids of the calls in a message of the conversation. */
  take({ content }: Message): void {
    for (const block of content)
      if (block.type === 'tool_use' && !this.#taken.has(block.id)) this.#taken.set(block.id, 0);
  }

  /** Begins an answer with this id. */
  begin(messageId: string): void {
    this.#messageId = messageId;
    this.#first.clear();
  }

  /** Returns the id for the first call that the model gave this id. */
  of(id: string): string {
    const known = this.#first.get(id);
    if (known !== undefined) return known;
    if (this.#taken.has(id)) this.#state.extensions[EXTENSION] = { repeat: true };
    // A model that repeated an id once will do so again, even after a compaction has removed the first call.
    if (this.#state.extensions[EXTENSION] !== undefined) this.#taken.set(id, 0);
    const own = distinctId(id, this.#messageId, this.#taken);
    this.#first.set(id, own);
    return own;
  }

  /** Returns the answer with unique call ids. */
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
