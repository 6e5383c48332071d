import { isDeepStrictEqual } from 'node:util';
import { ItemLog, type JsonValue, type Message } from '@x/core';
import { type ChatOptions, chatKey } from '../ui/chat-key.js';
import type { SdkMessage } from './sdk-message.js';
import { toMessage } from './to-message.js';

const AGENT = 'ai-sdk-reductions';
/** How many reductions of conversations with the same beginning are kept. */
const KEPT = 20;

/** A message of a reduction: one of the conversation as it was, by its fingerprint, or one that was made or altered. */
type Entry = { readonly same: string } | { readonly message: Message };

/** A reduction as a store keeps it: what was reduced, by its fingerprint, and what it became. */
interface StoredReduction {
  readonly id: string;
  readonly entries: readonly Entry[];
}

/** Reductions in a session store, so that another process finds what this one reduced. */
export class StoredReductions {
  readonly #where: ChatOptions;

  constructor(where: ChatOptions) {
    this.#where = where;
  }

  /**
   * Finds the reduction of the longest beginning.
   *
   * @param ids Fingerprints of the conversation's beginnings.
   * @returns The messages of the reduction, and the id of what was reduced.
   */
  async find(
    sources: readonly SdkMessage[],
    ids: readonly string[],
  ): Promise<{ readonly id: string; readonly messages: readonly Message[] } | undefined> {
    const log = this.#log(ids);
    if (log === undefined) return undefined;
    const { messages } = await log.read();
    const stored = new Map(
      messages.map((message) => {
        const reduction = log.item(message) as unknown as StoredReduction;
        return [reduction.id, reduction];
      }),
    );
    const id = ids.findLast((candidate) => stored.has(candidate));
    const found = id === undefined ? undefined : stored.get(id);
    if (id === undefined || found === undefined) return undefined;
    const byId = new Map(ids.map((own, at) => [own, sources[at] as SdkMessage]));
    return { id, messages: found.entries.map((entry) => restored(entry, byId)) };
  }

  /** Keeps a reduction; of more than 20 with the same beginning the oldest goes. */
  async keep(
    ids: readonly string[],
    messages: readonly Message[],
    sources: ReadonlyMap<string, SdkMessage>,
  ): Promise<void> {
    const id = ids.at(-1);
    const log = this.#log(ids);
    if (log === undefined || id === undefined) return;
    const entries = messages.map((message): Entry => {
      const source = sources.get(message.id);
      return source !== undefined && toMessage(source, message.id) === message
        ? { same: message.id }
        : { message };
    });
    const item = log.message({ id, entries } as unknown as JsonValue);
    await log.change(({ messages: stored }) =>
      stored.length < KEPT
        ? { keep: stored.length, append: [item] }
        : { keep: 0, append: [...stored.slice(1), item] },
    );
  }

  #log([first]: readonly string[]): ItemLog | undefined {
    if (first === undefined) return undefined;
    return new ItemLog(this.#where.store, chatKey(this.#where, AGENT, first), AGENT);
  }
}

function restored(entry: Entry, sources: ReadonlyMap<string, SdkMessage>): Message {
  const id = 'same' in entry ? entry.same : entry.message.id;
  const source = sources.get(id);
  const original = source && toMessage(source, id);
  if ('same' in entry) {
    if (original === undefined) throw new Error('A message of the reduction is not in the conversation.');
    return original;
  }
  // Blocks that were not altered are the conversation's own again, and with them the parts that they were made from.
  const content = entry.message.content.map(
    (block) => original?.content.find((own) => isDeepStrictEqual(own, block)) ?? block,
  );
  return { ...entry.message, content };
}
