import type { Message, Model } from '@x/core';
import { DistinctCalls, readableMessage } from '@x/core/internal';
import { checkMessages, sendable } from '@x/core/messages';

/** The conversation of a call as its model can read it. A request checks and converts only what was added since the last request. */
export class RequestView {
  readonly #readable: Message[] = [];
  #calls = new DistinctCalls();
  #model: Model | undefined;

  /** Forgets the conversation, because it was rewritten. */
  restart(): void {
    this.#readable.length = 0;
    this.#calls = new DistinctCalls();
  }

  /**
   * Returns the messages of a request.
   *
   * @param conversation The conversation of the last request with later messages appended, unless `restart` was called since.
   * @param reminders Messages after the conversation, for this request only.
   * @param onReplaced Receives each line that took the place of a file.
   * @throws {InvalidInputError} if a hook has added an invalid message to one of the lists.
   */
  of(
    conversation: readonly Message[],
    reminders: readonly Message[],
    model: Model,
    onReplaced: (line: string, message: Message) => void,
  ): readonly Message[] {
    if (model !== this.#model || conversation.length < this.#readable.length) this.restart();
    this.#model = model;
    const start = this.#readable.length;
    const added = conversation.slice(start);
    checkMessages([...added, ...reminders], 'request to the model', 'messages', start);
    const readable = (message: Message) => readableMessage(message, model, onReplaced);
    for (const message of added) this.#readable.push(this.#calls.of(readable(message)));
    const list = this.#readable.concat(reminders.map(readable));
    // Tool calls in reminders get ids that are valid only in this request.
    return reminders.some(({ role }) => role === 'assistant') ? sendable(list, model) : list;
  }
}
