import { isObject, type JsonObject } from '../lib/json.js';
import { isNumbered, type Message } from './message.js';

/** The numbers of messages that a summary refers to. */
export interface SummaryNumbers {
  /** The highest number of a message that the summary replaces or that precedes it; 0 if there is none. */
  readonly last: number;
  /** The numbers of the requests that stay in front of the summary, by id. */
  readonly standing: ReadonlyMap<string, number>;
}

const KEY = 'numbers';

/** Returns the metadata of a summary that carries its numbers. */
export function withNumbers({ last, standing }: SummaryNumbers): JsonObject {
  // `Object.fromEntries` is four times slower for a thousand keys.
  const numbers: Record<string, number> = {};
  for (const [id, at] of standing) numbers[id] = at;
  return { [KEY]: { last, standing: numbers } };
}

/** Reads the numbers that a summary refers to. Returns no numbers for other messages. */
export function numbersIn({ kind, metadata }: Pick<Message, 'kind' | 'metadata'>): SummaryNumbers {
  const numbers = kind === 'summary' ? metadata?.[KEY] : undefined;
  const { last, standing } = isObject(numbers) ? numbers : {};
  const entries = Object.entries(isObject(standing) ? standing : {});
  return {
    last: typeof last === 'number' && Number.isSafeInteger(last) && last > 0 ? last : 0,
    standing: new Map(entries.filter((entry): entry is [string, number] => typeof entry[1] === 'number')),
  };
}

/**
 * Numbers messages from 1, in the order of their log. Messages after a summary continue the numbers that it refers to. This changes nothing
 * in a complete log, and keeps the numbers if the log was lost and begins with a summary.
 */
export class Numbering {
  #last: number;
  readonly #standing: Map<string, number>;

  constructor({ last, standing }: SummaryNumbers = { last: 0, standing: new Map() }) {
    this.#last = last;
    this.#standing = new Map(standing);
  }

  /** The highest number so far. */
  get last(): number {
    return this.#last;
  }

  copy(): Numbering {
    return new Numbering({ last: this.#last, standing: this.#standing });
  }

  /** Returns the number of the next message, if it has one. */
  next(message: Message): number | undefined {
    if (message.kind === 'summary') {
      const { last, standing } = numbersIn(message);
      this.#last = Math.max(this.#last, last);
      for (const [id, at] of standing) this.#standing.set(id, at);
    }
    if (!isNumbered(message)) return undefined;
    return this.#standing.get(message.id) ?? ++this.#last;
  }
}
