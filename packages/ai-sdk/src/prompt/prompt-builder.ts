import type { JsonObject } from '@x/core';
import { optionsOf, type PromptMessage, type PromptPart } from './prompt.js';

export type PartRole = 'user' | 'assistant' | 'tool';

/** Joins parts into messages: by message and role, except that tool results in a row are one message, as one turn. */
export class PromptBuilder {
  readonly messages: PromptMessage[] = [];
  #open: { readonly role: PartRole; readonly content: PromptPart[] } | undefined;

  startMessage(): void {
    if (this.#open?.role !== 'tool') this.#open = undefined;
  }

  add(role: PartRole, part: PromptPart): void {
    if (this.#open?.role !== role) {
      this.#open = { role, content: [] };
      this.messages.push(this.#open);
    }
    this.#open.content.push(part);
  }

  /** Texts without options are one message: some chat templates take no second one. */
  addSystem(text: string, metadata: JsonObject | undefined): void {
    if (text === '' && metadata === undefined) return;
    const last = this.messages.at(-1);
    if (last?.role === 'system' && last.providerOptions === undefined && metadata === undefined) {
      this.messages[this.messages.length - 1] = { role: 'system', content: `${last.content}\n\n${text}` };
    } else {
      this.messages.push({ role: 'system', content: text, ...optionsOf(metadata) });
    }
  }
}
