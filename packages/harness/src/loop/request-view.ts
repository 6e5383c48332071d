import type { Message, Model } from '@x/core';
import { DistinctCalls, GrowingList, readableMessage } from '@x/core/internal';
import { checkMessages, sendable } from '@x/core/messages';

const SUBJECT = 'request to the model';

/** The conversation of a call as a model can read it. A request checks and converts only what was added since the last request. */
export class RequestView {
  readonly model: Model;
  readonly #onReplaced: (line: string, message: Message) => void;
  readonly #conversation = new GrowingList<Message>();
  readonly #readable: Message[] = [];
  #calls = new DistinctCalls();

  /** @param onReplaced Receives each line that took the place of a file. */
  constructor(model: Model, onReplaced: (line: string, message: Message) => void) {
    this.model = model;
    this.#onReplaced = onReplaced;
  }

  /**
   * Returns the messages of a request.
   *
   * @param reminders Messages behind the conversation, which only this request has.
   * @throws {InvalidInputError} if a hook has added an invalid message to one of the lists.
   */
  of(conversation: readonly Message[], reminders: readonly Message[]): readonly Message[] {
    const restart = () => {
      this.#readable.length = 0;
      this.#calls = new DistinctCalls();
    };
    this.#conversation.follow(conversation, restart, (message, index) => {
      checkMessages([message], SUBJECT, 'messages', index);
      const readable = readableMessage(message, this.model, this.#onReplaced);
      this.#readable.push(...this.#calls.among([readable]));
    });
    checkMessages(reminders, SUBJECT, 'messages', conversation.length);
    const behind = reminders.map((message) => readableMessage(message, this.model, this.#onReplaced));
    const list = [...this.#readable, ...behind];
    // Calls of reminders take ids for this request alone.
    return reminders.some(({ role }) => role === 'assistant') ? sendable(list, this.model) : list;
  }
}
