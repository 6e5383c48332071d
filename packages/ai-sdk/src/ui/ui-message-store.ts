import { isDeepStrictEqual } from 'node:util';
import { ItemLog, type JsonObject, type SessionStore } from '@x/core';
import { collectionOf, type ItemHistory, itemFrom, itemJson, KeyedMutex, parseWith } from '@x/core/internal';
import * as z from 'zod';
import { type ChatOptions, chatKey, chatSchema } from './chat-key.js';
import type { UIMessageLike } from './ui-chunk.js';

const NAME = 'ai-sdk-ui';
const MARK = `$${NAME}`;
const COLLECTION = 'chats';
const messageSchema = z.looseObject({ id: z.string(), role: z.string(), parts: z.array(z.unknown()) });

/**
 * Stores the messages of `useChat` in the collection `chats` of a session store, one item per message. JSON values and bytes are restored
 * unchanged. Saving a chat only writes from the first changed message on, for example a new or regenerated answer.
 *
 * @example
 * ```ts
 * import { UIMessageStore } from '@x/ai-sdk';
 * import { JsonSession } from '@x/core/node';
 * import type { UIMessage } from 'ai';
 *
 * const chats = new UIMessageStore<UIMessage>({ store: new JsonSession({ directory: './chats' }), userId: 'alice' });
 * const messages = await chats.load('chat-1');
 * await chats.save('chat-1', [...messages, { id: 'm1', role: 'user', parts: [{ type: 'text', text: 'Hi' }] }]);
 * ```
 */
export class UIMessageStore<Message extends UIMessageLike = UIMessageLike> {
  readonly #options: ChatOptions;
  readonly #chats: SessionStore;
  /** Changes of one chat run one after the other, because parallel ones would conflict. */
  readonly #changes = new KeyedMutex();

  /**
   * @throws {InvalidInputError} with the name of each missing, unknown or invalid option.
   * @throws {CapabilityError} if the store has no collections.
   */
  constructor(options: ChatOptions) {
    this.#options = parseWith(chatSchema, options, 'UIMessageStore options');
    this.#chats = collectionOf(this.#options.store, COLLECTION);
  }

  /** Returns the messages of a chat in order. Empty if the user has no such chat. */
  async load(chatId: string): Promise<Message[]> {
    const log = this.#log(chatId);
    const { messages } = await log.read();
    return messages.map((message) => itemFrom(log.item(message), MARK) as Message);
  }

  /**
   * Replaces all messages of a chat. If two callers save at the same time, the later one overwrites the earlier one. To add messages
   * without this risk, use `append`.
   *
   * @throws {InvalidInputError} if a value is not a UI message, or contains a Date, Map, Set, bigint or object of another class. The error has
   * the path of the value. Nothing is stored then.
   */
  async save(chatId: string, messages: readonly Message[]): Promise<void> {
    const items = itemsOf(messages);
    await this.#change(chatId, () => items);
  }

  /**
   * Adds messages to the end of a chat. If the chat has a message with the same id, replaces it. Messages with an empty id, as the AI SDK
   * gives to an answer by default, are always added. Concurrent calls do not lose messages.
   *
   * @throws {InvalidInputError} as `save` does.
   */
  async append(chatId: string, messages: readonly Message[]): Promise<void> {
    const items = itemsOf(messages);
    await this.#change(chatId, (stored) => {
      const whole = [...stored];
      for (const item of items) {
        const known = whole.findLastIndex(({ id }) => id !== '' && id === item.id);
        whole[known === -1 ? whole.length : known] = item;
      }
      return whole;
    });
  }

  /** Deletes a chat. Returns whether it existed. */
  delete(chatId: string): Promise<boolean> {
    return this.#chats.delete(chatKey(this.#options, chatId));
  }

  /** Replaces the items of a chat with those that `planned` returns. Writes only from the first different item on. */
  async #change(chatId: string, planned: (stored: Items) => Items): Promise<void> {
    const log = this.#log(chatId);
    const plan = ({ messages }: ItemHistory) => {
      const stored = messages.map((message) => log.item(message));
      const items = planned(stored);
      const differs = items.findIndex((item, at) => !isDeepStrictEqual(stored[at], item));
      const keep = differs === -1 ? items.length : differs;
      if (keep === stored.length && keep === items.length) return undefined;
      return { keep, append: items.slice(keep).map((item) => log.message(item, roleOf(item))) };
    };
    await this.#changes.run(chatId, () => log.change(plan));
  }

  #log(chatId: string): ItemLog {
    return new ItemLog(this.#chats, chatKey(this.#options, chatId), NAME);
  }
}

type Items = readonly JsonObject[];

function itemsOf(messages: readonly UIMessageLike[]): Items {
  parseWith(z.array(messageSchema), messages, 'UI messages');
  return messages.map((message, at) => itemJson(message, MARK, `messages[${at}]`) as JsonObject);
}

function roleOf({ role }: JsonObject): 'user' | 'system' | 'assistant' {
  return role === 'user' || role === 'system' ? role : 'assistant';
}
