import { randomUUID } from 'node:crypto';
import { isDeepStrictEqual } from 'node:util';
import type { AgentEventBody } from '@x/core';
import type { DraftReference } from '@x/core/internal';

type Delta =
  | { readonly type: 'text.delta' | 'thinking.delta'; readonly text: string }
  | {
      readonly type: 'tool.delta';
      readonly toolUseId: string;
      readonly name: string;
      readonly inputDelta: string;
    };

/**
 * The answer that the model is writing, as it is streamed: the texts of all drafts, less those that were discarded, are
 * the texts of the messages.
 */
export class Draft {
  readonly #emit: (event: AgentEventBody) => void;
  #reference: DraftReference = { messageId: '', draft: 0 };
  #text = '';
  #isTold = false;

  constructor(emit: (event: AgentEventBody) => void) {
    this.#emit = emit;
  }

  /** The id that the message will have. */
  get messageId(): string {
    return this.#reference.messageId;
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  /** Begins a message. */
  begin(): void {
    this.discard();
    this.#reference = { messageId: randomUUID(), draft: 1 };
  }

  add(delta: Delta): void {
    if (delta.type === 'text.delta') this.#text += delta.text;
    this.#isTold = true;
    this.#emit({ ...delta, ...this.#reference });
  }

  /** Takes back what was streamed, if anything was; what follows is the next draft. */
  discard(): void {
    const { messageId, draft } = this.#reference;
    if (!this.#isTold) return;
    this.#emit({ type: 'draft.discarded', ...this.#reference, text: this.#text });
    this.#text = '';
    this.#isTold = false;
    this.#reference = { messageId, draft: draft + 1 };
  }

  /** Streams what is missing of the answer's `text`, or all of it instead of a draft that said something else. */
  complete(text: string): void {
    if (!text.startsWith(this.#text) && !isSameJson(text, this.#text)) this.discard();
    const rest = text.slice(this.#text.length);
    if (rest !== '' && text.startsWith(this.#text)) this.add({ type: 'text.delta', text: rest });
  }

  /** Ends the message: nothing of it can be discarded any more. */
  end(): void {
    this.#text = '';
    this.#isTold = false;
  }
}

/** Returns whether two answers of a form are the same: a model writes JSON with other spaces. */
function isSameJson(left: string, right: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(left), JSON.parse(right));
  } catch {
    return false;
  }
}
