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

/** The answer that the model is streaming. The texts of the drafts that were not discarded equal the texts of the messages. */
export class Draft {
  readonly #emit: (event: AgentEventBody) => void;
  #reference: DraftReference = { messageId: '', draft: 0 };
  #text = '';
  #isTold = false;

  constructor(emit: (event: AgentEventBody) => void) {
    this.#emit = emit;
  }

  /** The id of the message. */
  get messageId(): string {
    return this.#reference.messageId;
  }

  /** The text so far. */
  get text(): string {
    return this.#text;
  }

  /** Begins a new message. */
  begin(): void {
    this.discard();
    this.#reference = { messageId: randomUUID(), draft: 1 };
  }

  add(delta: Delta): void {
    if (delta.type === 'text.delta') this.#text += delta.text;
    this.#isTold = true;
    this.#emit({ ...delta, ...this.#reference });
  }

  /** Discards the streamed text, if any. The next text belongs to a new draft. */
  discard(): void {
    const { messageId, draft } = this.#reference;
    if (!this.#isTold) return;
    this.#emit({ type: 'draft.discarded', ...this.#reference, text: this.#text });
    this.#text = '';
    this.#isTold = false;
    this.#reference = { messageId, draft: draft + 1 };
  }

  /** Streams the missing rest of the answer's `text`. If the draft differs, it is discarded and the whole text is streamed. */
  complete(text: string): void {
    if (!text.startsWith(this.#text) && !isSameJson(text, this.#text)) this.discard();
    const rest = text.slice(this.#text.length);
    if (rest !== '' && text.startsWith(this.#text)) this.add({ type: 'text.delta', text: rest });
  }

  /** Ends the message. It can no longer be discarded. */
  end(): void {
    this.#text = '';
    this.#isTold = false;
  }
}

/** Returns whether two answers are the same JSON, ignoring whitespace. */
function isSameJson(left: string, right: string): boolean {
  try {
    return isDeepStrictEqual(JSON.parse(left), JSON.parse(right));
  } catch {
    return false;
  }
}
