import { type ContentBlock, InvalidInputError, type Message } from '@x/core';
import { digest, exactText, isObject, parseWith } from '@x/core/internal';
import {
  madeFrom,
  originOf,
  type ProviderMessage,
  readBlocks,
  type WritableDialect,
  writeMessage,
} from '@x/core/messages';
import { isSummaryText } from '../summary/summary-message.js';

/** The time of every message. Providers store no times, and a constant makes repeated reads equal. */
const CREATED_AT = new Date(0).toISOString();

/**
 * Reads a provider's messages, and writes them back. One adapter serves one conversation: it remembers which message it
 * read from which object. An object that got other content or calls, or more of them, is read again.
 */
export interface MessageAdapter<Source extends object> {
  /**
   * Reads a list, or what was added to it since. The same object gives the same message. Ids follow from content and order,
   * so that another process reads the same ones. A list that begins with all that was read, or with what was written last,
   * keeps their ids where its objects are parsed again. Any other list is one of new messages with new ids.
   *
   * @throws {InvalidInputError} naming the first bad message and every bad field of it.
   */
  read(sources: readonly Source[]): Message[];
  /**
   * Writes messages. An unaltered message is written as the object that it was read from. An altered one keeps all other fields.
   *
   * @throws {InvalidInputError} If the provider does not support a block.
   */
  write(messages: readonly Message[]): Source[];
}

/** An object of a list that was read or written, with the state and the digest that it had then, and its messages. */
interface Reading {
  readonly source: ProviderMessage;
  readonly state: readonly unknown[];
  readonly role: string;
  readonly hash: string;
  readonly id: string;
  readonly isSummary: boolean;
  readonly messages: readonly Message[];
}

/** The fields that hold the content of a message. All other fields are kept if the message is altered. */
const SAID: readonly string[] = ['role', 'content', 'tool_calls', 'tool_call_id', 'reasoning_content'];

/** The fields of an object by identity and length, which tell that it was given other words or more of them. */
function stateOf(source: ProviderMessage): readonly unknown[] {
  return SAID.flatMap((field) => {
    const value = source[field];
    return Array.isArray(value) ? [value, value.length] : [value, undefined];
  });
}

/** The words for a message in the form that `useChat` of the AI SDK keeps. */
const UI_MESSAGE =
  'is of a UIMessage of the AI SDK: make it a ModelMessage with its convertToModelMessages, which @x/ai-sdk compacts';
/** The error for a message that no adapter read. */
const NOT_READ = 'must be a list of blocks: write takes the messages that read or a compactor gave';

function refuseInput(subject: string, path: string, message: string): never {
  throw new InvalidInputError(subject, [{ path, message }]);
}

function checkList(list: unknown, method: string): void {
  if (!Array.isArray(list)) refuseInput(`argument of ${method}`, '', 'must be a list of messages');
}

/** Maximum number of remembered readings of lists that do not continue one another. */
const MOST_READINGS = 100_000;

/** The adapter of a dialect. */
export class DialectAdapter<Source extends object> implements MessageAdapter<Source> {
  readonly #dialect: WritableDialect;
  readonly #bySource = new WeakMap<object, Reading>();
  readonly #byMessage = new WeakMap<Message, Reading>();
  readonly #toolNames = new Map<string, string>();
  readonly #given = new Map<string, number>();
  // A list parsed again begins with one of these, and its objects have the ids of their places. Any other list counts on.
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
    // Text that is added later is from a user, even if it looks like a summary.
    const found = before === undefined ? this.#summaryIn(sources) : -1;
    const summary = isFirst || this.#isToldAgain(hashes.slice(found + 1)) ? found : -1;
    const readings = sources.map((source, at) => {
      const place = before?.[at];
      const hash = hashes[at] as string;
      const isSummary = place?.isSummary ?? at === summary;
      return (
        this.#knownOf(source) ?? this.#readMessage(source, hash, place?.id ?? this.#newId(hash), isSummary)
      );
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
      const made = writeMessage(this.#dialect, message, was?.content);
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
    // The few that are made again are of the type's own kinds.
    return readings.map(({ source }) => source) as object[] as Source[];
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
   * Tests for a list that is no addition but the conversation told again, as another process reduced it: what stands behind its
   * summary keeps the end of the list before, up to what a model or a tool said last. An equal beginning tells nothing, nor
   * do words of a user: a user can edit what follows them, or repeat them.
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

  /** Finds the summary of a list: the first text of its form, in front of which only instructions and requests stand. */
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

  /** Notes the name of a call's tool, and gives it to the result. */
  #named(block: ContentBlock): ContentBlock {
    if (block.type === 'tool_use') this.#toolNames.set(block.id, block.name);
    if (block.type !== 'tool_result') return block;
    const toolName = this.#toolNames.get(block.toolUseId) ?? '';
    return madeFrom({ ...block, toolName }, originOf(block, this.#dialect.key) as object, this.#dialect.key);
  }
}

/** The role of instructions in newer models of OpenAI. */
const DEVELOPER = 'developer';

function readingOf(source: ProviderMessage, hash: string, id: string, messages: readonly Message[]): Reading {
  const isSummary = messages.some(({ kind }) => kind === 'summary');
  return { source, state: stateOf(source), role: source.role, hash, id, isSummary, messages };
}

function hashOf(source: ProviderMessage): string {
  return digest(exactText(source)).slice(0, 24);
}
