import { type ContentBlock, InvalidInputError, type Message } from '@x/core';
import { digest, exactText, isObject, nativeIndex, parseWith } from '@x/core/internal';
import {
  madeFrom,
  originOf,
  type ProviderMessage,
  readBlocks,
  type WritableDialect,
  writeMessage,
} from '@x/core/messages';
import { isSummaryText } from '../summary/summary-message.js';

/** The time of every message. Providers store no times, and with a constant, repeated reads give equal messages. */
const CREATED_AT = new Date(0).toISOString();

/**
 * Converts a provider's messages to messages of this package and back. Use one adapter per conversation, because it remembers the source
 * object of each message. An object whose content or calls have changed is read again.
 */
export interface MessageAdapter<Source extends object> {
  /**
   * Converts a list. The same object always gives the same message. Ids depend only on content and order, so another process gets the same
   * ids. If the list begins with the list that was read or written last, its messages keep their ids, even if the objects were parsed
   * again. The messages of any other list get new ids.
   *
   * @throws {InvalidInputError} naming the first invalid message and each of its invalid fields.
   */
  read(sources: readonly Source[]): Message[];
  /**
   * Converts messages back. An unaltered message becomes the object that it was read from. An altered message keeps the object's other
   * fields.
   *
   * @throws {InvalidInputError} if the provider does not support a block.
   */
  write(messages: readonly Message[]): Source[];
}

/** A source object that was read or written, with its state and digest at that time, and its messages. */
interface Reading {
  readonly source: ProviderMessage;
  readonly state: readonly unknown[];
  readonly role: string;
  readonly hash: string;
  readonly id: string;
  readonly messages: readonly Message[];
}

/** The fields that hold the content of a message. All other fields are kept if the message is altered. */
const SAID: readonly string[] = ['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning_content'];

/** Returns the content fields of an object and their lengths. If they differ from those of an earlier read, the object has changed. */
function stateOf(source: ProviderMessage): readonly unknown[] {
  return SAID.flatMap((field) => {
    const value = source[field];
    return Array.isArray(value) ? [value, value.length] : [value, undefined];
  });
}

/** The error for a message in the format of the AI SDK's `useChat`. */
const UI_MESSAGE =
  'belongs to a UIMessage of the AI SDK. Convert it with convertToModelMessages, and compact the result with @x/ai-sdk';
/** The error for a message that no adapter read. */
const NOT_READ = 'must be a list of blocks. Pass the messages that read() or a compactor returned';

function refuseInput(subject: string, path: string, message: string): never {
  throw new InvalidInputError(subject, [{ path, message }]);
}

function checkList(list: unknown, method: string): void {
  if (!Array.isArray(list)) refuseInput(`argument of ${method}`, '', 'must be a list of messages');
}

/** Maximum number of remembered readings from lists that do not continue an earlier list. */
const MOST_READINGS = 100_000;

/** The adapter of a dialect. */
export class DialectAdapter<Source extends object> implements MessageAdapter<Source> {
  readonly #dialect: WritableDialect;
  readonly #bySource = new WeakMap<object, Reading>();
  readonly #byMessage = new WeakMap<Message, Reading>();
  readonly #toolNames = new Map<string, string>();
  readonly #given = new Map<string, number>();
  // If a list begins with one of these, even parsed again, its objects keep the ids of their positions. Other lists get new ids.
  #read: readonly Reading[] = [];
  #written: readonly Reading[] = [];

  constructor(dialect: WritableDialect) {
    this.#dialect = dialect;
  }

  read(given: readonly Source[]): Message[] {
    checkList(given, 'read');
    const sources = given as readonly object[] as readonly ProviderMessage[];
    const hashes = sources.map((source, index) => {
      const known = this.#knownOf(source);
      if (known === undefined) {
        const subject = `${this.#dialect.name} message ${index}`;
        if (isObject(source) && 'parts' in source && !('content' in source))
          refuseInput(subject, 'parts', UI_MESSAGE);
        parseWith(this.#dialect.schema, source, subject);
      }
      return known?.hash ?? hashOf(source);
    });
    const [first] = sources;
    const isGrown = first !== undefined && this.#knownOf(first) !== undefined;
    const before = [this.#read, this.#written].find(
      (list) => list.length > 0 && list.every(({ hash }, at) => hash === hashes[at]),
    );
    const isFirst = this.#read.length + this.#written.length === 0;
    // Text that is added to a known list is from a user, even if it looks like a summary.
    const found = before === undefined ? this.#summaryIn(sources) : -1;
    const summary = isFirst || this.#isToldAgain(hashes.slice(found + 1)) ? found : -1;
    const readings = sources.map((source, at) => {
      const place = before?.[at];
      const hash = hashes[at] as string;
      const known = this.#knownOf(source);
      if (known !== undefined) return known;
      // Return the same messages, because they have metadata that the provider's objects lack.
      if (place !== undefined && place.messages.length > 0)
        return this.#remember(source, hash, place.messages);
      return this.#readMessage(source, hash, place?.id ?? this.#newId(hash), at === summary);
    });
    const isWhole =
      before !== undefined ||
      isGrown ||
      summary !== -1 ||
      this.#read.length + readings.length > MOST_READINGS;
    if (!isWhole && this.#written.length > 0) this.#written = [...this.#written, ...readings];
    this.#read = isWhole ? readings : [...this.#read, ...readings];
    return readings.flatMap(({ messages }) => messages);
  }

  write(messages: readonly Message[]): Source[] {
    checkList(messages, 'write');
    const readings: Reading[] = [];
    const before = new Map(
      [...this.#read, ...this.#written].flatMap(({ source, messages }) =>
        messages.map(({ id, content }) => [id, { source, content }] as const),
      ),
    );
    for (let index = 0; index < messages.length; index++) {
      const message = messages[index] as Message;
      if (!Array.isArray(message.content)) refuseInput(`message ${index}`, 'content', NOT_READ);
      const reading = this.#byMessage.get(message);
      if (reading?.messages.every((own, at) => own === messages[index + at])) {
        readings.push(reading);
        index += reading.messages.length - 1;
        continue;
      }
      const was = before.get(message.id);
      const made = writeMessage(this.#dialect, this.#readable(message), was?.content);
      const rest = Object.entries(was?.source ?? {}).filter(
        ([field, value]) => !SAID.includes(field) || (value === DEVELOPER && message.role === 'system'),
      );
      for (const words of made) {
        const source = { ...words, ...Object.fromEntries(rest) };
        readings.push(
          made.length === 1
            ? this.#remember(source, hashOf(source), [message])
            : readingOf(source, hashOf(source), this.#newId(hashOf(source)), []),
        );
      }
    }
    this.#written = readings;
    // Objects that the adapter created have the form of the provider's type.
    return readings.map(({ source }) => source) as object[] as Source[];
  }

  /** Leaves out another provider's own compaction: the summary has a record for all models, too. */
  #readable(message: Message): Message {
    if (nativeIndex(message) === -1) return message;
    const { key } = this.#dialect;
    const content = message.content.filter((block) => block.type !== 'opaque' || block.provider === key);
    return { ...message, content };
  }

  #remember(source: ProviderMessage, hash: string, messages: readonly Message[]): Reading {
    const reading = readingOf(source, hash, messages[0]?.id ?? hash, messages);
    this.#bySource.set(source, reading);
    for (const message of messages) this.#byMessage.set(message, reading);
    return reading;
  }

  #knownOf(source: ProviderMessage): Reading | undefined {
    const known = isObject(source) ? this.#bySource.get(source) : undefined;
    if (known === undefined) return undefined;
    return stateOf(source).every((value, at) => value === known.state[at]) ? known : undefined;
  }

  /**
   * Tests if a list is the known conversation as another process reduced it. Then the messages after its summary include the last model or
   * tool message of the known list. An equal beginning does not prove this, and neither do user messages: a user can repeat a message, or edit
   * the conversation after it.
   */
  #isToldAgain(behind: readonly string[]): boolean {
    return [this.#read, this.#written].some((list) => {
      const last = list.findLast(({ role }) => role !== 'user');
      return last !== undefined && behind.includes(last.hash);
    });
  }

  #newId(hash: string): string {
    const count = (this.#given.get(hash) ?? 0) + 1;
    this.#given.set(hash, count);
    return count === 1 ? hash : `${hash}-${count}`;
  }

  /** Finds the summary of a list: the first text in summary form that only instructions and user requests precede. */
  #summaryIn(sources: readonly ProviderMessage[]): number {
    let asked = 0;
    for (const [index, source] of sources.entries()) {
      if (source.role === 'system' || source.role === DEVELOPER) continue;
      if (source.role !== 'user') break;
      const parts = this.#dialect.parts(source);
      const text = parts.map((part) => (part.type === 'text' ? String(part.text) : '')).join('');
      if (isSummaryText(text, asked > 0)) return index;
      asked++;
    }
    return -1;
  }

  #readMessage(source: ProviderMessage, hash: string, id: string, isSummary: boolean): Reading {
    const blocks = readBlocks(this.#dialect, source).map((block) => this.#named(block));
    const results = blocks.filter(({ type }) => type === 'tool_result');
    const said = blocks.filter(({ type }) => type !== 'tool_result');
    const createdAt = CREATED_AT;
    const messages: Message[] = results.length > 0 ? [{ id, role: 'tool', content: results, createdAt }] : [];
    if (said.length > 0 || results.length === 0) {
      const role = source.role === DEVELOPER ? 'system' : (source.role as Message['role']);
      const own = { id: results.length > 0 ? `${id}.1` : id, role, content: said, createdAt };
      messages.push(isSummary ? { ...own, kind: 'summary' } : own);
    }
    return this.#remember(source, hash, messages);
  }

  /** Remembers the tool name of a call, and adds it to the call's result. */
  #named(block: ContentBlock): ContentBlock {
    if (block.type === 'tool_use') this.#toolNames.set(block.id, block.name);
    if (block.type !== 'tool_result') return block;
    const toolName = this.#toolNames.get(block.toolUseId) ?? '';
    return madeFrom({ ...block, toolName }, originOf(block, this.#dialect.key) as object, this.#dialect.key);
  }
}

/** The role of system messages for newer OpenAI models. */
const DEVELOPER = 'developer';

function readingOf(source: ProviderMessage, hash: string, id: string, messages: readonly Message[]): Reading {
  return { source, state: stateOf(source), role: source.role, hash, id, messages };
}

function hashOf(source: ProviderMessage): string {
  return digest(exactText(unmarked(source))).slice(0, 24);
}

/**
 * Leaves out marks for the prompt cache, because applications move them to the newest message at each call. A string becomes one text part,
 * because only a part can have a mark.
 */
function unmarked(part: unknown): unknown {
  if (!isObject(part)) return part;
  const content = typeof part.content === 'string' ? [{ type: 'text', text: part.content }] : part.content;
  return {
    ...part,
    cache_control: undefined,
    ...(Array.isArray(content) ? { content: content.map(unmarked) } : {}),
  };
}
